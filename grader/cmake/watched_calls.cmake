# ONEPASS_WATCHED_CALLS: the functions of CUDA that a GPU's worker has its own in place of.
set(watched ${PROJECT_SOURCE_DIR}/grader/worker/watched_calls_gpu.cu)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${watched})
file(STRINGS ${watched} lines REGEX "^ONEPASS_WATCH")
foreach(line ${lines})
  string(REGEX REPLACE "^ONEPASS_WATCH[A-Z_]*\\(([A-Za-z0-9_]+).*" "\\1" name "${line}")
  list(APPEND ONEPASS_WATCHED_CALLS ${name})
endforeach()
