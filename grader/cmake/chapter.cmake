# onepass_chapter(<name> FOLDER <folder> DOCS <page> EXERCISES <exercise>...)
#
# Adds a chapter. <folder> is its place in exercises/ and solutions/, where each exercise is one file
# <exercise>.cu. In grader/chapters/<name>/ lie
#
#   checks_*.cpp           the checks, and chapter.cpp: with the library below they become the program
#                          grade-<name>.
#   *.cpp                  the rest of the chapter's share of the deciding process, if it is not all
#                          in chapter.cpp: its functions as data, reference, calls, mistakes. They
#                          become the library onepass_<name>, which tests link too.
#   <exercise>.binding.cu  names the arguments of the contract's function; #includes
#                          ONEPASS_SUBMISSION
#   naive.cu               the multi-pass version of the chapter's functions, if it has one
function(onepass_chapter name)
  cmake_parse_arguments(PARSE_ARGV 1 chapter "" "FOLDER;DOCS" "EXERCISES")
  set(home ${CMAKE_CURRENT_SOURCE_DIR}/${name})

  file(GLOB checks CONFIGURE_DEPENDS ${home}/checks_*.cpp ${home}/chapter.cpp)
  file(GLOB sources CONFIGURE_DEPENDS ${home}/*.cpp)
  list(REMOVE_ITEM sources ${checks})
  add_executable(grade-${name} ${checks})
  # The library before main(), which is compiled without optimisation: of an inline function that both
  # have, such as the JSON library's, the linker takes the first. Every call of a kernel passes there.
  target_link_libraries(grade-${name} PRIVATE onepass_chapters_common onepass_verdict
                                              onepass_verdict_main fmt::fmt)
  target_compile_definitions(grade-${name} PRIVATE # chapters/common/exercise.h
    ONEPASS_CHAPTER="${name}" ONEPASS_CHAPTER_DOCS="${chapter_DOCS}")
  if(sources)
    add_library(onepass_${name} STATIC ${sources})
    target_link_libraries(onepass_${name} PUBLIC onepass_chapters_common PRIVATE fmt::fmt)
    target_link_libraries(grade-${name} PRIVATE onepass_${name})
  endif()

  file(GLOB naive ${home}/naive.cu) # empty if there is none
  set(exercises)
  foreach(exercise ${chapter_EXERCISES})
    set_property(GLOBAL APPEND PROPERTY ONEPASS_EXERCISES ${name}/${exercise})
    list(APPEND exercises "{\"id\": \"${name}/${exercise}\", \"file\": \"${exercise}.cu\", \
\"binding\": \"${home}/${exercise}.binding.cu\", \"naive\": \"${naive}\"}")
  endforeach()
  list(JOIN exercises ",\n       " exercises)
  # What the driver is to know of the chapter; grader/driver/CMakeLists.txt writes it down.
  set_property(GLOBAL APPEND PROPERTY ONEPASS_CHAPTER_NAMES ${name})
  set_property(GLOBAL APPEND_STRING PROPERTY ONEPASS_CHAPTERS_JSON
    "    {\"name\": \"${name}\", \"folder\": \"${chapter_FOLDER}\",
     \"grader\": \"$<TARGET_FILE:grade-${name}>\",
     \"exercises\": [
       ${exercises}]},\n")
endfunction()
