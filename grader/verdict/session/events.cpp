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

json possible_of(const Failure& failure) {
  json possible = json::array();
  for (const Diagnosis& diagnosis : failure.possible) {
    possible.push_back(
        {{"diagnosis", or_null(diagnosis.mistake)}, {"sentence", diagnosis.sentence}});
  }
  return possible;
}

json launches_of(const Session::Check& check) {
  json launches = json::array();
  for (const Session::Launched& launch : check.launches) {
    launches.push_back({{"function", launch.function},
                        {"written", launch.written},
                        {"threads", launch.threads},
                        {"dynamic_shared_bytes", launch.dynamic_shared_bytes},
                        {"may_spill", launch.may_spill}});
  }
  return launches;
}

}  // namespace

Events::Events(const std::string& path)
    : file_(path.empty() ? stdout : std::fopen(path.c_str(), "ae"),
            path.empty() ? std::fflush : std::fclose) {
  if (file_ == nullptr) {
    throw std::runtime_error("cannot write to " + path + ": " + std::strerror(errno));
  }
}

void Events::write(const json& event) {
  // What a student's code prints need not be UTF-8.
  const std::string line = event.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  if (std::fwrite(line.data(), 1, line.size(), file_.get()) != line.size() ||
      std::fflush(file_.get()) != 0) {
    throw std::runtime_error(std::string("cannot write events: ") + std::strerror(errno));
  }
}

json check_event(const std::string& exercise, const wire::CheckInfo& info,
                 const Session::Check& check) {
  const Failure failure = check.failure.value_or(Failure{Status::passed});
  json event = {{"event", "check"},
                {"exercise", exercise},
                {"name", info.name},
                {"status", failure.status},
                {"points", info.points},
                {"message", failure.message},
                {"diagnosis", or_null(failure.mistake)},
                {"possible", possible_of(failure)},
                {"error_over_bound",
                 or_null(check.failure ? failure.error_over_bound : check.error_over_bound)},
                {"location", or_null(failure.location)},
                {"todo", info.todo},
                {"warnings", check.warnings},
                {"output", check.output},
                {"launches", launches_of(check)},
                {"detail",
                 {{"where", failure.where},
                  {"expected", failure.expected},
                  {"got", failure.got},
                  {"pattern", failure.pattern},
                  {"call", failure.call}}}};
  if (failure.is_right) {
    event["is_right"] = true;
  }
  return event;
}

}  // namespace onepass::verdict
