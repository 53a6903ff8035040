# onepass_simulated_objects(<target> <file.cu>...)
#
# Compiles .cu files for the CPU simulator, as the driver compiles a student's: rewritten to C++,
# with the simulator's flags and headers. <target> is an object library; link what uses its objects
# with onepass_simulator.
include(simulator_flags)

function(onepass_simulated_objects target)
  set(rewritten)
  foreach(source ${ARGN})
    get_filename_component(source ${source} ABSOLUTE)
    get_filename_component(name ${source} NAME_WE)
    set(output ${CMAKE_CURRENT_BINARY_DIR}/${target}/${name}.cpp)
    file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/${target})
    add_custom_command(
      OUTPUT ${output}
      COMMAND onepass-rewrite ${source} ${output} --path ${source}
      DEPENDS onepass-rewrite ${source}
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
