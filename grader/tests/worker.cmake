# onepass_cpu_worker(<target> <path>), onepass_gpu_worker(<target> <path>)
#
# Build, as a part of this project, the worker program of one implementation: <path>.cu compiled
# together with <path>.binding.cu. The driver does the same, with the same flags, for what a student
# hands in; this is for the tests' own kernels.
include(simulator_flags)

# Launches rewritten to plain C++, then g++ with the simulator's flags.
function(onepass_cpu_worker target path)
  set(submission ${CMAKE_CURRENT_SOURCE_DIR}/${path}.cu)
  set(binding ${CMAKE_CURRENT_SOURCE_DIR}/${path}.binding.cu)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${target}.dir)
  set(rewritten ${folder}/submission.cpp)
  set(object ${folder}/binding.o)
  file(MAKE_DIRECTORY ${folder})
  add_custom_command(
    OUTPUT ${rewritten}
    COMMAND onepass-rewrite ${submission} ${rewritten}
    DEPENDS ${submission} onepass-rewrite VERBATIM)
  add_custom_command(
    OUTPUT ${object}
    COMMAND ${CMAKE_CXX_COMPILER} -std=c++17 ${ONEPASS_SIMULATOR_COMPILE_FLAGS}
            -isystem ${PROJECT_SOURCE_DIR}/grader/simulator/include
            -I${PROJECT_SOURCE_DIR}/grader/include -I${PROJECT_SOURCE_DIR}/grader
            -DONEPASS_SUBMISSION="${rewritten}" -MD -MF ${object}.d
            -x c++ -c ${binding} -o ${object}
    DEPENDS ${rewritten} ${binding} DEPFILE ${object}.d VERBATIM)
  add_executable(${target} EXCLUDE_FROM_ALL ${object})
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX)
  target_link_libraries(${target} PRIVATE onepass_worker_cpu)
endfunction()

function(onepass_gpu_worker target path)
  add_executable(${target} EXCLUDE_FROM_ALL ${path}.binding.cu)
  target_compile_definitions(${target} PRIVATE
    ONEPASS_SUBMISSION="${CMAKE_CURRENT_SOURCE_DIR}/${path}.cu")
  target_compile_options(${target} PRIVATE -lineinfo)
  target_link_libraries(${target} PRIVATE onepass_worker_gpu)
endfunction()
