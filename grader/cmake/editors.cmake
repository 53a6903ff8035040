# The exercises and solutions in compile_commands.json, from which editors learn how a file is
# compiled: with nvcc where there is a toolkit, else with the simulator's headers in the place of
# NVIDIA's. A library that nobody builds. (clangd asks .clangd instead, and needs no toolkit.)
file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/exercises/*/*.cu
     ${PROJECT_SOURCE_DIR}/solutions/*/*.cu)
add_library(onepass_for_editors OBJECT EXCLUDE_FROM_ALL ${files})
set_target_properties(onepass_for_editors PROPERTIES
  UNITY_BUILD OFF CXX_STANDARD 17 CUDA_STANDARD 17)
if(ONEPASS_CUDA_FOUND)
  set(CMAKE_CUDA_USE_RESPONSE_FILE_FOR_INCLUDES OFF) # else those would stand in another file
else()
  set_source_files_properties(${files} PROPERTIES LANGUAGE CXX)
  target_include_directories(onepass_for_editors SYSTEM
                             PRIVATE ${PROJECT_SOURCE_DIR}/grader/simulator/include)
endif()
