# What a student calls: make -C build grade, grade_<chapter>, solutions, solutions_<chapter>, check;
# and a maintainer: check_all, format, mutants.
get_property(chapters GLOBAL PROPERTY ONEPASS_CHAPTER_NAMES)

# With the driver is built what it needs to build an exercise, but the chapters' graders: older first
# headers beside newer ones would define everything twice.
add_dependencies(onepass onepass-rewrite onepass_worker_cpu onepass_simulator onepass_first_headers)
if(ONEPASS_GPU_PRESENT AND ONEPASS_CUDA_FOUND)
  add_dependencies(onepass onepass_worker_gpu)
endif()

# With a toolkit but no GPU, what runs on a GPU is at least compiled, and only for the tests.
if(ONEPASS_CUDA_FOUND AND NOT ONEPASS_GPU_PRESENT)
  set_target_properties(onepass_worker_gpu PROPERTIES EXCLUDE_FROM_ALL TRUE)
endif()

# onepass_grading_target(<target> <folder> <chapter>...): grades these chapters of exercises/ or
# solutions/.
function(onepass_grading_target target folder)
  add_custom_target(${target}
    COMMAND onepass grade ${ARGN} --submission ${PROJECT_SOURCE_DIR}/${folder}
            --report ${CMAKE_BINARY_DIR}/report/${folder}.json
    USES_TERMINAL VERBATIM)
  list(TRANSFORM ARGN PREPEND grade- OUTPUT_VARIABLE graders)
  add_dependencies(${target} onepass ${graders})
endfunction()

onepass_grading_target(grade exercises ${chapters})
foreach(chapter ${chapters})
  onepass_grading_target(grade_${chapter} exercises ${chapter})
endforeach()
# A student's copy (onepass handout) has neither solutions nor tests.
if(NOT EXISTS ${PROJECT_SOURCE_DIR}/solutions OR NOT EXISTS ${PROJECT_SOURCE_DIR}/grader/tests)
  return()
endif()
onepass_grading_target(solutions solutions ${chapters})
foreach(chapter ${chapters})
  onepass_grading_target(solutions_${chapter} solutions ${chapter})
endforeach()

cmake_host_system_information(RESULT processors QUERY NUMBER_OF_LOGICAL_CORES)
set(tests ${CMAKE_CTEST_COMMAND} --output-on-failure --parallel ${processors})
add_custom_target(check
  COMMAND ${CMAKE_COMMAND} -E env --unset=ONEPASS_CHECK_ALL ${tests}
  COMMAND ${CMAKE_COMMAND} -E echo "Left to make check_all: \
entries of the corpus with a mistake, an attack or a way to be right that another one has, or that \
are slow, right kernels under a second seed, a worker that takes all memory that it may, nvcc on \
exercises and naive versions and for a second architecture, and the page of docs/adding_an_exercise.md."
  WORKING_DIRECTORY ${CMAKE_BINARY_DIR} USES_TERMINAL VERBATIM)
add_custom_target(check_all
  COMMAND ${CMAKE_COMMAND} -E env ONEPASS_CHECK_ALL=1 ${tests}
  WORKING_DIRECTORY ${CMAKE_BINARY_DIR} USES_TERMINAL VERBATIM)
add_custom_target(format COMMAND sh ${PROJECT_SOURCE_DIR}/grader/format.sh VERBATIM)
# Small changes to the solutions, each of which a check has to find (tests/mutants/mutants.py).
find_package(Python3 COMPONENTS Interpreter QUIET)
if(Python3_FOUND)
  set(mutants ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/grader/tests/mutants/mutants.py
              --onepass $<TARGET_FILE:onepass> --out ${CMAKE_BINARY_DIR}/mutants)
  add_custom_target(mutants COMMAND ${mutants} USES_TERMINAL VERBATIM)
  add_test(NAME mutants_test COMMAND ${mutants} --sample 1 --seed 2 --jobs 1)
  set_tests_properties(mutants_test PROPERTIES LABELS mutants)
else()
  add_custom_target(mutants
    COMMAND ${CMAKE_COMMAND} -E echo "make mutants needs Python 3: install it and run cmake again."
    COMMAND ${CMAKE_COMMAND} -E false VERBATIM)
endif()
list(TRANSFORM chapters PREPEND grade- OUTPUT_VARIABLE graders)
foreach(target check check_all mutants)
  add_dependencies(${target} onepass ${graders})
endforeach()
if(ONEPASS_CUDA_FOUND)
  add_dependencies(check onepass_worker_gpu)
  add_dependencies(check_all onepass_worker_gpu)
endif()
