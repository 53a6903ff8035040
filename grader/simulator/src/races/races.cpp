#include "races/races.h"

namespace simulator {

void RaceChecker::on(const BlockBegin& event) {
  report_.settle();
  ordering_.on(event);
  report_.on(event);
  SharedShadows& shared = shared_.begin(event);
  if (shared.is_new) {
    shared.is_new = false;
    shared.statics = RaceShadow(memory_.shared.static_size());
    shared.dynamic = RaceShadow(memory_.shared.dynamic_size());
  }
}

void RaceChecker::on(const BlockResume& event) {
  report_.settle_without_shared_memory();
  ordering_.on(event);
  report_.on(event);
  shared_.resume(event);
}

bool RaceChecker::is_race(const EarlyRead& read, AccessEvent write) {
  if (is_behind(read.when, write.thread)) return false;
  report_.early_read(read, write);
  return true;
}

}  // namespace simulator
