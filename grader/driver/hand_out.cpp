#include "driver/hand_out.h"

namespace onepass::driver {

std::optional<std::string> HandOut::next(bool from_end) {
  const std::lock_guard lock(mutex_);
  if (next_ == end_ || (from_end && timeouts_from_end_ >= kMostTimeouts)) {
    return std::nullopt;
  }
  return names_[from_end ? --end_ : next_++];
}

void HandOut::note(const Json& check, bool from_end) {
  const std::lock_guard lock(mutex_);
  (from_end ? timeouts_from_end_ : timeouts_) += check.at("status") == "timed out" ? 1 : 0;
  if (timeouts_ >= kMostTimeouts || (is_last_ && is_last_(check))) {
    next_ = end_;
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
