# Is there a CUDA toolkit, and is there a GPU? Neither is needed: without them the CPU simulator
# grades. Sets
#
#   ONEPASS_CUDA_FOUND   a toolkit of at least CUDA 12 that can compile; the CUDA language is enabled
#   ONEPASS_GPU_PRESENT  this machine has an NVIDIA GPU (with or without a toolkit)
#   ONEPASS_GPU_REASON   why grading on a GPU is not possible here, one sentence; empty if it is
include(CheckLanguage)
set(ONEPASS_CUDA AUTO CACHE STRING "Use the CUDA toolkit: AUTO (if there is one), ON, OFF")
set_property(CACHE ONEPASS_CUDA PROPERTY STRINGS AUTO ON OFF)

# The device file is enough: nvidia-smi is often missing in containers.
set(ONEPASS_GPU_PRESENT FALSE)
execute_process(COMMAND nvidia-smi -L OUTPUT_VARIABLE gpus ERROR_QUIET RESULT_VARIABLE failed)
if((NOT failed AND gpus MATCHES "GPU 0") OR EXISTS /dev/nvidia0)
  set(ONEPASS_GPU_PRESENT TRUE)
endif()

# Sets ONEPASS_CUDA_FOUND and, where it is FALSE, ONEPASS_GPU_REASON.
function(onepass_find_toolkit)
  set(ONEPASS_CUDA_FOUND FALSE PARENT_SCOPE)
  if(NOT ONEPASS_CUDA)
    set(ONEPASS_GPU_REASON "the build was configured with -DONEPASS_CUDA=OFF" PARENT_SCOPE)
    return()
  endif()
  if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
    # Where NVIDIA's installers put it, which is often not on PATH; and pip.
    file(GLOB wheels $ENV{VIRTUAL_ENV}/lib/python3*/site-packages/nvidia/cu*)
    find_program(ONEPASS_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH /usr/local/cuda ${wheels}
                 PATH_SUFFIXES bin)
    if(NOT ONEPASS_NVCC)
      set(ONEPASS_GPU_REASON "there is no CUDA toolkit (nvcc)" PARENT_SCOPE)
      return()
    endif()
    set(ENV{CUDACXX} ${ONEPASS_NVCC})
  endif()
  check_language(CUDA)
  if(NOT CMAKE_CUDA_COMPILER)
    set(ONEPASS_GPU_REASON
        "nvcc was found but cannot compile a CUDA program (a host compiler too new for it?)"
        PARENT_SCOPE)
    return()
  endif()
  execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --version OUTPUT_VARIABLE text)
  string(REGEX MATCH "release ([0-9]+\\.[0-9]+)" text "${text}")
  if(CMAKE_MATCH_1 VERSION_LESS 12)
    set(ONEPASS_GPU_REASON "CUDA 12 or newer is needed, and nvcc here is ${CMAKE_MATCH_1}"
        PARENT_SCOPE)
    return()
  endif()
  set(ONEPASS_CUDA_FOUND TRUE PARENT_SCOPE)
endfunction()

# The generations of this machine's GPUs, such as "90-real", as nvcc itself sees them; empty if it
# sees none. Asked for here, once: where submissions are compiled no GPU may be opened.
function(onepass_native_architectures result)
  file(WRITE ${CMAKE_BINARY_DIR}/CMakeFiles/nothing.cu "")
  execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --dryrun -arch=native -c nothing.cu
                  WORKING_DIRECTORY ${CMAKE_BINARY_DIR}/CMakeFiles
                  OUTPUT_VARIABLE commands ERROR_VARIABLE commands RESULT_VARIABLE failed)
  set(architectures)
  if(NOT failed AND NOT commands MATCHES "Cannot find valid GPU")
    string(REGEX MATCHALL "-arch=sm_[0-9]+" architectures "${commands}")
    list(REMOVE_DUPLICATES architectures)
    list(TRANSFORM architectures REPLACE "-arch=sm_([0-9]+)" "\\1-real")
  endif()
  set(${result} ${architectures} PARENT_SCOPE)
endfunction()

onepass_find_toolkit()
if(ONEPASS_CUDA_FOUND)
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES OR CMAKE_CUDA_ARCHITECTURES STREQUAL native)
    onepass_native_architectures(CMAKE_CUDA_ARCHITECTURES)
    if(NOT CMAKE_CUDA_ARCHITECTURES)
      set(CMAKE_CUDA_ARCHITECTURES 80 90)  # both CUDA 12 and 13 compile for these
    endif()
  endif()
  enable_language(CUDA)
  set(CMAKE_CUDA_STANDARD 17)
  set(CMAKE_CUDA_STANDARD_REQUIRED ON)
  # The same choice as flags of nvcc, for what the driver builds.
  foreach(architecture ${CMAKE_CUDA_ARCHITECTURES})
    string(REGEX MATCH "^[0-9]+[a-z]?" number "${architecture}")
    if(number)
      list(APPEND ONEPASS_NVCC_ARCHITECTURE_FLAGS -gencode=arch=compute_${number},code=sm_${number})
    else()
      list(APPEND ONEPASS_NVCC_ARCHITECTURE_FLAGS -arch=${architecture})  # such as all-major
    endif()
  endforeach()
  if(NOT ONEPASS_GPU_PRESENT)
    set(ONEPASS_GPU_REASON "there is no NVIDIA GPU, or its driver is not loaded")
  endif()
elseif(ONEPASS_CUDA STREQUAL "ON")
  message(FATAL_ERROR "ONEPASS_CUDA=ON, but ${ONEPASS_GPU_REASON}.")
endif()

if(ONEPASS_GPU_REASON)
  message(STATUS "Grading on the CPU simulator: ${ONEPASS_GPU_REASON}.")
else()
  message(STATUS "Grading on the GPU, with CUDA ${CMAKE_CUDA_COMPILER_VERSION}.")
endif()
