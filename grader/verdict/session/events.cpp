#include "verdict/session/events.h"

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace onepass::verdict {
namespace {

using nlohmann::json;

template <typename T>
json or_null(const std::optional<T>& value) {
  return value ? json(*value) : json(nullptr);
}

}  // namespace

Events::Events(const std::string& path)
    : file_(path.empty() ? stdout : std::fopen(path.c_str(), "ae")), owned_(!path.empty()) {
  if (file_ == nullptr) {
    throw std::runtime_error("cannot write to " + path + ": " + std::strerror(errno));
  }
}

Events::~Events() {
  if (owned_) {
    std::fclose(file_);
  }
}

void Events::write(const json& event) {
  // What a student's code prints need not be UTF-8.
  const std::string line = event.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  if (std::fwrite(line.data(), 1, line.size(), file_) != line.size() || std::fflush(file_) != 0) {
    throw std::runtime_error(std::string("cannot write events: ") + std::strerror(errno));
  }
}

json check_event(const std::string& exercise, const CheckResult& result) {
  const Failure failure = result.failure.value_or(Failure{});
  return {{"event", "check"},
          {"exercise", exercise},
          {"name", result.info.name},
          {"status", name(result.status())},
          {"points", result.info.points},
          {"message", failure.message},
          {"diagnosis", or_null(failure.mistake)},
          {"error_over_bound",
           or_null(result.failure ? failure.error_over_bound : result.error_over_bound)},
          {"location", or_null(failure.location)},
          {"todo", result.info.todo},
          {"warnings", result.warnings},
          {"output", result.output},
          {"detail",
           {{"where", failure.where},
            {"expected", failure.expected},
            {"got", failure.got},
            {"pattern", failure.pattern},
            {"call", failure.call}}}};
}

}  // namespace onepass::verdict
