# onepass_simulated_objects(<target> <file.cu>...)
#
# Compiles .cu files for the CPU simulator, as the driver compiles a student's: rewritten to C++,
# with the simulator's flags and headers. <target> is an object library; link what uses its objects
# with onepass_simulator. Given headers (rewriter/given_headers.cpp) are those of
# ${ONEPASS_GIVEN_FOLDER}, if that is set.
include(simulator_flags)

function(onepass_simulated_objects target)
  set(rewritten)
  set(given ${PROJECT_SOURCE_DIR}/grader/include)
  if(ONEPASS_GIVEN_FOLDER)
    set(given ${ONEPASS_GIVEN_FOLDER})
  endif()
  file(GLOB given_headers CONFIGURE_DEPENDS ${given}/onepass/*.h)
  foreach(source ${ARGN})
    get_filename_component(source ${source} ABSOLUTE)
    get_filename_component(name ${source} NAME_WE)
    set(output ${CMAKE_CURRENT_BINARY_DIR}/${target}/${name}.cpp)
    file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/${target})
    add_custom_command(
      OUTPUT ${output}
      COMMAND onepass-rewrite ${source} ${output} --path ${source} --given ${given}
      DEPENDS onepass-rewrite ${source} ${given_headers}
      VERBATIM)
    list(APPEND rewritten ${output})
  endforeach()
  add_library(${target} OBJECT EXCLUDE_FROM_ALL ${rewritten})
  # These options and no others: the warnings are for the grader's own code.
  set_target_properties(${target} PROPERTIES CXX_STANDARD 17 UNITY_BUILD OFF
                        COMPILE_OPTIONS "${ONEPASS_SIMULATOR_COMPILE_FLAGS}")
  target_include_directories(${target} SYSTEM PRIVATE
    ${PROJECT_SOURCE_DIR}/grader/simulator/include)
endfunction()
