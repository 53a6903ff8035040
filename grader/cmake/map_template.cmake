# cmake -DFILES=<page.html;style.css;script.js;...> -DOUTPUT=<file.cpp> -P map_template.cmake
#
# Writes the page of `onepass map` as a C++ string: the style sheet and the scripts go where the page
# has @STYLE@ and @SCRIPTS@. @DATA@ is left to the driver.
list(POP_FRONT FILES page_file style_file)
file(READ ${page_file} page)
file(READ ${style_file} style)
set(scripts)
foreach(file IN LISTS FILES)
  file(READ ${file} script)
  string(APPEND scripts "${script}\n")
endforeach()
string(REPLACE "@STYLE@" "${style}" page "${page}")
string(REPLACE "@SCRIPTS@" "${scripts}" page "${page}")
file(WRITE ${OUTPUT} "#include \"driver/map/page.h\"

namespace onepass::driver {

const char* const kMapTemplate = R\"page(${page})page\";

}  // namespace onepass::driver
")
