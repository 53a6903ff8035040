# The compiler: g++ 11 or newer. It compiles the student's files too, and the simulator stands on
# what only g++ does: the calls of its -fsanitize=thread, with the parameters of simulator_flags, and
# C++20 as of g++ 11.
set(ONEPASS_LEAST_GCC 11)

if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU" OR CMAKE_CXX_COMPILER_VERSION VERSION_LESS
                                              ONEPASS_LEAST_GCC)
  message(FATAL_ERROR
    "One Pass is built with g++ ${ONEPASS_LEAST_GCC} or newer, and ${CMAKE_CXX_COMPILER} is "
    "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}: remove the build folder and choose one, "
    "for instance with cmake -B build -DCMAKE_CXX_COMPILER=g++-12.")
endif()
