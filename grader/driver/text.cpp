#include "driver/text.h"

namespace onepass::driver {

std::string text(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) {
    return "";
  }
  return found->is_string() ? found->get<std::string>() : found->dump();
}

std::string first_line(const std::string& lines) {
  return lines.substr(0, lines.find('\n'));
}

}  // namespace onepass::driver
