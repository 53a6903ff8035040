// The page of `onepass map`: whole in itself, and its data is data whatever the student wrote.
#include <doctest/doctest.h>

#include <string>

#include "driver/map/page.h"

using namespace onepass::driver;

namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

/// What the page's script will read.
std::string data_of(const std::string& page) {
  const std::string start = R"(<script type="application/json" id="data">)";
  const std::size_t from = page.find(start) + start.size();
  return page.substr(from, page.find("</script>", from) - from);
}

}  // namespace

TEST_CASE("the page has its style, its scripts and its data, and asks for nothing else") {
  const std::string page = map_page({{"exercise", "toy/first"}});
  CHECK(page.substr(0, 15) == "<!DOCTYPE html>");
  for (const char* mark : {"@STYLE@", "@SCRIPTS@", "@DATA@"}) {
    CHECK_FALSE(has(page, mark));
  }
  CHECK(has(page, "--ratio0:"));
  CHECK(has(page, "function prepare(map)"));
  CHECK(has(page, "new Page(prepare("));
  CHECK(has(page, "default-src 'none'"));
  for (const char* request : {" src=", " href=", "@import", "url(", "fetch(", "import("}) {
    CHECK_FALSE(has(page, request));
  }
  // The only address is the name of SVG, which nobody opens.
  CHECK(occurrences(page, "http") - occurrences(page, "http-equiv") == 1);
  CHECK(has(page, "'http://www.w3.org/2000/svg'"));
}

TEST_CASE("text that looks like HTML stays text") {
  const std::string source = "// </script><script>alert(1)</script> <!-- <b> & \"quoted\" \\n ✓\n";
  const Json map = {{"source", {{"name", "a<b>.cu"}, {"text", source}}}, {"first_launch", 0}};
  const std::string page = map_page(map);
  CHECK(occurrences(page, "</script>") == 2);
  CHECK_FALSE(has(data_of(page), "<"));
  CHECK(Json::parse(data_of(page)) == map);
}

TEST_CASE("bytes that are no text are shown as such") {
  const Json map = {{"source", {{"name", "first.cu"}, {"text", "int caf\xe9;\n"}}}};
  const Json read = Json::parse(data_of(map_page(map)));
  CHECK(read["source"]["text"] == "int caf\xef\xbf\xbd;\n");
}

TEST_CASE("a source that names the mark of the data changes nothing") {
  const Json map = {{"source", {{"name", "first.cu"}, {"text", "@DATA@ @STYLE@ @SCRIPTS@"}}}};
  CHECK(Json::parse(data_of(map_page(map))) == map);
}
