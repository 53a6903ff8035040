#include "driver/hand_out.h"

namespace onepass::driver {

std::optional<std::string> HandOut::next() {
  const std::lock_guard lock(mutex_);
  return next_ < names_.size() ? std::optional(names_[next_++]) : std::nullopt;
}

void HandOut::note(const Json& check) {
  const std::lock_guard lock(mutex_);
  timeouts_ += check.at("status") == "timed out" ? 1 : 0;
  if (timeouts_ >= kMostTimeouts || (is_last_ && is_last_(check))) {
    next_ = names_.size();
  }
}

std::vector<std::string> names_of(const Json& checks) {
  std::vector<std::string> names;
  for (const Json& check : checks) {
    names.push_back(check.at("name"));
  }
  return names;
}

}  // namespace onepass::driver
