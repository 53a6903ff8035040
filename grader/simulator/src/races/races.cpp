#include "races/races.h"

#include "common/limits.h"

namespace simulator {

void RaceChecker::on(const BlockBegin& event) {
  ordering_.on(event);
  report_.on(event);
  SharedShadows& shared = shared_.begin(event);
  if (shared.dynamic.is_empty()) {
    shared.statics = RaceShadow(memory_.shared.static_size());
    shared.dynamic = RaceShadow(limits::kSharedPerBlockOptin);
  }
}

void RaceChecker::on(const BlockResume& event) {
  ordering_.on(event);
  report_.on(event);
  shared_.resume(event);
}

bool RaceChecker::is_race(const EarlyRead& read, AccessEvent write) {
  AccessRecord then;
  then.interval = static_cast<std::uint32_t>(read.when >> 32);
  then.who = static_cast<std::uint32_t>(read.when);
  if (ordering_.is_ordered(then, write.thread)) return false;
  report_.early_read(read, write);
  return true;
}

}  // namespace simulator
