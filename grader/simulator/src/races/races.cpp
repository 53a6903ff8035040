#include "races/races.h"

#include <algorithm>

namespace simulator {

void RaceChecker::on(const BlockBegin& event) {
  report_.settle();
  ordering_.on(event);
  report_.on(event);
  lifetime_.on(event);
  early_begin_.on(event);
  fences_.begin(event).begin(event.threads);
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
  early_begin_.on(event);
  fences_.resume(event);
}

void RaceChecker::on(const ReadOnlyLoad& event) {
  const AccessEvent& load = event.load;
  shadow_of(load.place).each_record(load, [&](const AccessRecord& earlier, AccessType type) {
    const bool is_of_launch = earlier.interval() >= ordering_.first_interval();
    if (type != AccessType::read && is_of_launch) report_.read_only_load(earlier, type, load);
  });
}

void RaceChecker::on_remote(const AccessEvent& event) {
  const AccessRecord now = record(event.thread, event.access);
  const unsigned seat = remote_seat(event.place);
  lifetime_.check_begun(event);
  if (event.access.is_volatile) races_.sites.mark_volatile(now.site());
  SharedShadows& shared = shared_.at(seat);
  const bool is_static = (event.place.piece - kFirstRemote) % 2 == kStaticShared;
  (is_static ? shared.statics : shared.dynamic)
      .check(event, now, std::max(ordering_.block_begin_of(seat), ordering_.oldest()), ordering_,
             report_, first_reads_);
  lifetime_.note_visit(event, now);
}

void RaceChecker::on_bulk_copy(const AsyncCopy& copy) {
  bulk_sites_.insert(races_.sites.number(copy.to.site, copy.to.size));
  if (copy.from_place.space != MemorySpace::shared || copy.from_place.area != Area::inside) return;
  const RaceShadow& shadow = shadow_of(copy.from_place);
  shadow.each_write(copy.from_place.offset, copy.from.size, [&](const AccessRecord& store) {
    if (store.interval() < ordering_.block_begin()) return;
    if (ordering_.block_of(store) != ordering_.block()) return;  // its fences are not known here
    if (fences_.running().cover(store, ordering_) || bulk_sites_.count(store.site()) > 0) return;
    if (!ordering_.is_ordered(store, copy.thread)) return;  // a race, which is told
    report_.unfenced(store, copy);
  });
}

bool RaceChecker::is_race(const EarlyRead& read, AccessEvent write) {
  if (is_behind(read.when, write.thread)) return false;
  report_.early_read(read, write);
  return true;
}

}  // namespace simulator
