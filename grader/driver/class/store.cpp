#include "driver/class/store.h"

#include <fmt/format.h>

#include "driver/bad_input.h"
#include "driver/cache.h"
#include "driver/files.h"

namespace onepass::driver::course {
namespace fs = std::filesystem;

namespace {

// What a container has left may be anything.
constexpr std::uintmax_t kLargest = 64 << 20;

// Two sources must not be one because a byte of theirs is no text.
std::string text_of(const Key& key) {
  return key.settings.dump() + "\n" + key.source;
}

}  // namespace

fs::path Store::file_of(const Key& key) const {
  return folder_ / fmt::format("{}-{}.json", key.label, fingerprint(text_of(key)));
}

// The key is compared as a whole: a fingerprint may be somebody else's. It stands in a file of its
// own bytes, behind the report, which is one line.
std::optional<Json> Store::load(const Key& key) const {
  std::error_code error;
  const fs::path file = file_of(key);
  if (!fs::is_regular_file(fs::symlink_status(file, error)) ||
      fs::file_size(file, error) > kLargest || error) {
    return std::nullopt;
  }
  try {
    const std::string content = read_file(file);
    const std::size_t end = content.find('\n');
    if (end == std::string::npos ||
        content.compare(end + 1, std::string::npos, text_of(key)) != 0) {
      return std::nullopt;
    }
    return Json::parse(content.substr(0, end));
  } catch (const GraderFault&) {
    return std::nullopt;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

void Store::save(const Key& key, const Json& result) const {
  write_file(file_of(key),
             result.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n" + text_of(key));
}

}  // namespace onepass::driver::course
