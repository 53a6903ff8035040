# Writes build/onepass.json, from which the driver knows the chapters and how to make a worker of an
# implementation. grader/driver/config.h describes the fields.
include(simulator_flags)

# onepass_json_toolchain(<variable> <compiler> <rewriter> <list> <item>... <list> ...): a toolchain,
# with its four lists, none of which is empty.
function(onepass_json_toolchain variable compiler rewriter)
  set(lists compile_flags link_flags inputs allowed)
  cmake_parse_arguments(PARSE_ARGV 3 toolchain "" "" "${lists}")
  set(json "{\"compiler\": \"${compiler}\", \"rewriter\": \"${rewriter}\"")
  foreach(list ${lists})
    list(JOIN toolchain_${list} "\", \"" items)
    string(APPEND json ",\n    \"${list}\": [\"${items}\"]")
  endforeach()
  set(${variable} "${json}}" PARENT_SCOPE)
endfunction()

set(grader ${PROJECT_SOURCE_DIR}/grader)
set(contract ${grader}/include)
set(binding_headers ${grader}/worker)
set(simulator_headers ${grader}/simulator/include)

# Where a compiler's own headers and the standard library's lie. nvcc may choose another g++ than
# CMake did: any under /usr/lib/gcc will do.
execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=include
                OUTPUT_VARIABLE compiler_headers OUTPUT_STRIP_TRAILING_WHITESPACE)
set(system_headers ${CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES} ${compiler_headers}
    /usr/include /usr/lib/gcc)
set(backtrace)
if(ONEPASS_HAS_LIBBACKTRACE)
  set(backtrace -lbacktrace)
endif()

# What every contract includes first is compiled once, with the same flags: a quarter of a small
# file's time. Where g++ cannot use it, it reads the headers again. After them nobody may leave code
# out of what the simulator watches.
set(simulator_flags -std=c++17 ${ONEPASS_SIMULATOR_COMPILE_FLAGS} -isystem ${simulator_headers}
    -I${contract} -I${grader})
set(first ${CMAKE_CURRENT_BINARY_DIR}/first.h)
file(CONFIGURE OUTPUT first.h CONTENT "#include <cstdint>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#pragma GCC poison no_sanitize no_sanitize_thread no_sanitize_undefined no_sanitize_address
#pragma GCC poison __no_sanitize__ __no_sanitize_thread__ __no_sanitize_undefined__
#pragma GCC poison __no_sanitize_address__ disable_sanitizer_instrumentation
")
file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${simulator_headers}/*)
add_custom_command(OUTPUT ${first}.gch
  COMMAND ${CMAKE_CXX_COMPILER} ${simulator_flags} -x c++-header ${first} -o ${first}.gch
  DEPENDS ${first} ${headers} onepass-rewrite VERBATIM)
add_custom_target(onepass_first_headers ALL DEPENDS ${first}.gch)

onepass_json_toolchain(cpu_toolchain "${CMAKE_CXX_COMPILER}" $<TARGET_FILE:onepass-rewrite>
  compile_flags ${simulator_flags} -include ${first} -x c++
  link_flags -Wl,--whole-archive $<TARGET_FILE:onepass_worker_cpu>
    $<TARGET_FILE:onepass_simulator> -Wl,--no-whole-archive
    $<TARGET_FILE:Boost::context> -Wl,-rpath,$<TARGET_FILE_DIR:Boost::context> ${backtrace}
    -pthread -ldl
  inputs $<TARGET_FILE:onepass-rewrite> $<TARGET_FILE:onepass_worker_cpu>
    $<TARGET_FILE:onepass_simulator> ${contract} ${simulator_headers} ${binding_headers}
  allowed ${first} ${first}.gch ${contract} ${simulator_headers} ${binding_headers} ${system_headers})

# Else CUB's headers define functions of the profiler's library, and an exercise may not.
set(without_nvtx -DCCCL_DISABLE_NVTX)
set(gpu_toolchain null)
set(gpu_code_toolchain null)
if(ONEPASS_CUDA_FOUND)
  include(watched_calls)
  set(watched)
  foreach(function ${ONEPASS_WATCHED_CALLS})
    list(APPEND watched -Xlinker --wrap=${function})
  endforeach()
  onepass_json_toolchain(gpu_toolchain "${CMAKE_CUDA_COMPILER}" ""
    compile_flags -std=c++17 -O3 -lineinfo ${ONEPASS_NVCC_ARCHITECTURE_FLAGS} ${without_nvtx} -I${contract}
      -I${grader} -x cu
    link_flags ${ONEPASS_NVCC_ARCHITECTURE_FLAGS} ${watched} -Xlinker --whole-archive
      $<TARGET_FILE:onepass_worker_gpu> -Xlinker --no-whole-archive
    inputs $<TARGET_FILE:onepass_worker_gpu> ${contract} ${binding_headers}
    allowed ${contract} ${binding_headers} ${CMAKE_CUDA_TOOLKIT_INCLUDE_DIRECTORIES}
      ${CMAKE_CUDA_IMPLICIT_INCLUDE_DIRECTORIES} ${system_headers})
  # What nvcc alone knows of kernels that the simulator runs, for the device that it plays.
  onepass_json_toolchain(gpu_code_toolchain "${CMAKE_CUDA_COMPILER}" ""
    compile_flags -std=c++17 -O3 -arch=sm_90 ${without_nvtx} -I${contract} -I${grader} -x cu -ptx
    link_flags -arch=sm_90 -cubin -Xptxas -v
    inputs ${contract} ${binding_headers}
    allowed ${contract} ${binding_headers} ${CMAKE_CUDA_TOOLKIT_INCLUDE_DIRECTORIES}
      ${CMAKE_CUDA_IMPLICIT_INCLUDE_DIRECTORIES} ${system_headers})
endif()

get_property(chapters GLOBAL PROPERTY ONEPASS_CHAPTERS_JSON)
string(REGEX REPLACE ",\n$" "" chapters "${chapters}")
file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/onepass.json CONTENT "{
  \"source\": \"${PROJECT_SOURCE_DIR}\",
  \"build\": \"${CMAKE_BINARY_DIR}\",
  \"chapters\": [
${chapters}
  ],
  \"cpu\": ${cpu_toolchain},
  \"gpu\": ${gpu_toolchain},
  \"gpu_code\": ${gpu_code_toolchain},
  \"gpu_reason\": \"${ONEPASS_GPU_REASON}\"
}
")
