#include "driver/map/page.h"

namespace onepass::driver {

namespace {

// As a JSON text within a <script>. Without "<" nothing in it, a student's source say, can end the
// script or start a comment; in JSON it occurs in strings only, where it may be written like this.
std::string json_in_html(const Json& map) {
  std::string text;
  for (const char c : map.dump(-1, ' ', false, Json::error_handler_t::replace)) {
    text += c == '<' ? std::string("\\u003c") : std::string(1, c);
  }
  return text;
}

}  // namespace

std::string map_page(const Json& map) {
  static const std::string kMark = "@DATA@";
  std::string page = kMapTemplate;
  return page.replace(page.find(kMark), kMark.size(), json_in_html(map));
}

}  // namespace onepass::driver
