# make -C build grade prints the report: when all is built, nothing of make's own before it.
set_property(GLOBAL PROPERTY TARGET_MESSAGES OFF) # [100%] Built target ...
if(CMAKE_GENERATOR STREQUAL "Unix Makefiles")
  configure_file(${CMAKE_CURRENT_LIST_DIR}/GNUmakefile ${CMAKE_BINARY_DIR}/GNUmakefile @ONLY)
endif()
configure_file(${CMAKE_CURRENT_LIST_DIR}/moved.cmake ${CMAKE_BINARY_DIR}/moved.cmake COPYONLY)
