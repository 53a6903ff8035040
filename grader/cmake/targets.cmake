# What a student calls: make -C build grade, grade_<chapter>, solutions, solutions_<chapter>, check.
get_property(chapters GLOBAL PROPERTY ONEPASS_CHAPTER_NAMES)

# All that has to be built before an exercise can be.
set(needed onepass onepass-rewrite onepass_worker_cpu onepass_simulator)
foreach(chapter ${chapters})
  list(APPEND needed grade-${chapter})
endforeach()
if(ONEPASS_GPU_PRESENT AND ONEPASS_CUDA_FOUND)
  list(APPEND needed onepass_worker_gpu)
endif()

# onepass_grading_target(<target> <folder> <option>...): grades exercises/ or solutions/.
function(onepass_grading_target target folder)
  add_custom_target(${target}
    COMMAND onepass grade --submission ${PROJECT_SOURCE_DIR}/${folder}
            --report ${CMAKE_BINARY_DIR}/report/${folder}.json ${ARGN}
    USES_TERMINAL VERBATIM)
  add_dependencies(${target} ${needed})
endfunction()

onepass_grading_target(grade exercises)
onepass_grading_target(solutions solutions)
foreach(chapter ${chapters})
  onepass_grading_target(grade_${chapter} exercises --chapter ${chapter})
  onepass_grading_target(solutions_${chapter} solutions --chapter ${chapter})
endforeach()

include(ProcessorCount)
ProcessorCount(processors)
set(tests ${CMAKE_CTEST_COMMAND} --output-on-failure --parallel ${processors})
add_custom_target(check
  COMMAND ${CMAKE_COMMAND} -E env --unset=ONEPASS_CHECK_ALL ${tests}
  COMMAND ${CMAKE_COMMAND} -E echo "Left to make check_all: \
what other entries of the corpus make a mistake that its chapter has seen, right kernels under a \
second seed, and nvcc on exercises and naive versions and for a second architecture."
  WORKING_DIRECTORY ${CMAKE_BINARY_DIR} USES_TERMINAL VERBATIM)
add_custom_target(check_all
  COMMAND ${CMAKE_COMMAND} -E env ONEPASS_CHECK_ALL=1 ${tests}
  WORKING_DIRECTORY ${CMAKE_BINARY_DIR} USES_TERMINAL VERBATIM)
foreach(target check check_all)
  add_dependencies(${target} ${needed})
endforeach()
# With a toolkit but no GPU, what runs on a GPU is at least compiled, and only for the tests.
if(ONEPASS_CUDA_FOUND)
  add_dependencies(check onepass_worker_gpu)
  add_dependencies(check_all onepass_worker_gpu)
  if(NOT ONEPASS_GPU_PRESENT)
    set_target_properties(onepass_worker_gpu PROPERTIES EXCLUDE_FROM_ALL TRUE)
  endif()
endif()
