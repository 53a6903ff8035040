# Copied into the build folder, where GNUmakefile and grader/setup.sh run it: cmake -P build/moved.cmake
#
# CMake writes absolute paths into a build folder. If it was moved or copied together with its
# workbook, this configures it again for the new place. Options, reports and progress stay.
cmake_minimum_required(VERSION 3.22)
file(REAL_PATH ${CMAKE_CURRENT_LIST_DIR} build)
set(cache_file ${build}/CMakeCache.txt)
if(NOT EXISTS ${cache_file})
  return()
endif()
file(READ ${cache_file} cache)
string(REGEX MATCH "\nCMAKE_CACHEFILE_DIR:INTERNAL=([^\n]*)" found "${cache}")
set(old_build "${CMAKE_MATCH_1}")
string(REGEX MATCH "\nCMAKE_HOME_DIRECTORY:INTERNAL=([^\n]*)" found "${cache}")
set(old_source "${CMAKE_MATCH_1}")
file(REAL_PATH "${old_build}" known_build)
file(GLOB makefile ${build}/Makefile ${build}/build.ninja)
if(NOT old_source OR (known_build STREQUAL build AND makefile))
  return()
endif()

file(RELATIVE_PATH to_source ${old_build} ${old_source})
get_filename_component(source ${build}/${to_source} ABSOLUTE)
if(NOT EXISTS ${source}/grader/cmake/moved.cmake)
  message(FATAL_ERROR
    "This build folder belongs to the workbook in ${old_source}, and there is none in ${source}: make a "
    "new build folder where the workbook is, with cmake -B build.")
endif()
message(NOTICE
  "This workbook was moved or copied from ${old_source} to ${source}. It is set up here again: your "
  "exercises and what you have passed stay as they are.")

# What is compiled knows the old place. Without a Makefile this is done again if it is interrupted.
file(GLOB downloads ${build}/_deps/*-subbuild)
file(REMOVE_RECURSE ${makefile} ${build}/grader ${build}/bin ${build}/lib ${build}/CMakeFiles
     ${downloads})
foreach(end "/" "\n")
  string(REPLACE "=${old_build}${end}" "=${build}${end}" cache "${cache}")
  string(REPLACE "=${old_source}${end}" "=${source}${end}" cache "${cache}")
endforeach()
file(WRITE ${cache_file} "${cache}")
execute_process(COMMAND ${CMAKE_COMMAND} -S ${source} -B ${build} RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "cmake could not set it up: what it says above has to be mended first.")
endif()
