# onepass_worker(TARGET <name> BINDING <file> SUBMISSION <file> DEVICE cpu|gpu)
#
# Builds, as a part of this project, the worker program of one implementation: <file> of SUBMISSION
# compiled together with the binding. The driver does the same, with the same flags, for what a
# student hands in; this is for the grader's own kernels and tests.
include(simulator_flags)

function(onepass_worker)
  cmake_parse_arguments(PARSE_ARGV 0 worker "" "TARGET;BINDING;SUBMISSION;DEVICE" "")
  foreach(file BINDING SUBMISSION)
    get_filename_component(worker_${file} ${worker_${file}} ABSOLUTE)
  endforeach()
  if(worker_DEVICE STREQUAL "gpu")
    onepass_gpu_worker(${worker_TARGET} ${worker_BINDING} ${worker_SUBMISSION})
  else()
    onepass_cpu_worker(${worker_TARGET} ${worker_BINDING} ${worker_SUBMISSION})
  endif()
endfunction()

# Launches rewritten to plain C++, then g++ with the simulator's flags.
function(onepass_cpu_worker target binding submission)
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

function(onepass_gpu_worker target binding submission)
  add_executable(${target} EXCLUDE_FROM_ALL ${binding})
  target_compile_definitions(${target} PRIVATE ONEPASS_SUBMISSION="${submission}")
  target_compile_options(${target} PRIVATE -lineinfo)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/grader/include)
  target_link_libraries(${target} PRIVATE onepass_worker_gpu)
endfunction()
