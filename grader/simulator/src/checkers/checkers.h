// The checkers of one launch, and how the events reach them.
#pragma once

#include <type_traits>

#include "barriers/barriers.h"
#include "bounds/bounds.h"
#include "copies/copies.h"
#include "events/events.h"
#include "findings/findings.h"
#include "initialised/initialised.h"
#include "memory/memory.h"
#include "races/races.h"
#include "traffic/traffic.h"

namespace simulator {

/// Which checkers take part in a launch.
struct WantedCheckers {
  bool bounds = true, barriers = true, traffic = true, initialised = true, copies = true,
       races = true;
};

struct CheckerSettings {
  WantedCheckers wanted;
  bool count_requests = true;
  std::size_t most_traced = 0;  // requests to keep of each launch
};

/// What the checkers know of device memory, from one launch to the next.
struct ShadowMemory {
  InitialisedMemory initialised;
  RaceMemory races;

  void allocated(const Allocation& memory) {
    initialised.allocated(memory);
    races.device.allocated(memory);
  }
  void released(const Allocation& memory) {
    initialised.released(memory);
    races.device.released(memory);
  }
};

class Checkers {
 public:
  Checkers(const LaunchBegin& launch, const CheckerSettings& settings, const Memory& memory,
           ShadowMemory& shadow, Findings& findings)
      : memory_(memory),
        wanted_(settings.wanted),
        wants_most_(wanted_.bounds && wanted_.traffic && wanted_.races),
        may_go_short_way_(wants_most_),
        goes_short_way_(wants_most_),
        bounds_(launch, memory, findings),
        barriers_(launch, findings),
        traffic_(memory, settings.count_requests, settings.most_traced),
        initialised_(launch, memory, shadow.initialised, findings),
        copies_(launch, memory, findings),
        races_(launch, memory, shadow.races, findings) {}

  /// Tells every checker that has a function for the event. If the answer is not kSuccess, what
  /// happens is an error that ends the launch, and the checkers behind the one that says so were
  /// not told.
  ///
  /// Inlined, so that an event is never built in memory: to copy a part of it from there would have
  /// to wait until it is written.
  template <typename Event>
  [[gnu::always_inline]] ErrorCode tell(const Event& event) {
    ErrorCode error = kSuccess;
    if (wanted_.bounds) error = tell_one(bounds_, event);
    if (wanted_.barriers && error == kSuccess) error = tell_one(barriers_, event);
    if (error != kSuccess) return error;
    if (wanted_.traffic) tell_one(traffic_, event);
    if (wanted_.initialised) tell_one(initialised_, event);
    if (wanted_.copies) tell_one(copies_, event);
    if (wanted_.races) tell_one(races_, event);
    return kSuccess;
  }

  /// These change whether copies are under way in the block that runs.
  ErrorCode tell(const BlockBegin& event) { return tell_of_block(event); }
  ErrorCode tell(const BlockResume& event) { return tell_of_block(event); }

  /// An asynchronous copy reads and writes at some time between its begin and its end. So it is
  /// compared with what others do at both, and moves what it moves once. That it has written counts
  /// at its end alone: nobody may read it before. No store to shared memory is counted for it, as a
  /// GPU counts none.
  ErrorCode tell(const CopyBegin& event) {
    const AsyncCopy& copy = *event.copy;
    const AccessEvent read = read_by(copy), write = write_by(copy);
    const bool reads = copy.from.size > 0;  // else it is all zeros
    const bool is_bulk = copy.whole > 0;    // its traffic is told as a whole
    if (wanted_.bounds) {
      ErrorCode error = reads ? bounds_.on(read) : kSuccess;
      if (error == kSuccess) error = bounds_.on(write);
      if (error != kSuccess) return error;
    }
    if (reads) is_bulk ? tell_access<false, false>(read) : tell_access<false>(read);
    if (is_bulk && wanted_.races) races_.on_bulk_copy(copy);
    if (wanted_.initialised) settle_early_reads(write);
    if (wanted_.races && races_.may_begin_early()) races_.check_early(write);
    if (!meets_copy(write) && wanted_.races) races_.on(write);
    if (wanted_.copies) copies_.on(event);
    choose_way();
    return kSuccess;
  }
  /// An asynchronous store is compared with what others do where it begins; that it has written
  /// counts at its end. In the traffic it is one to another block, as a GPU has it for its own,
  /// too.
  ErrorCode tell(const StoreBegin& event) {
    const AccessEvent& write = event.write;
    if (wanted_.bounds) {
      if (const ErrorCode error = bounds_.on(write); error != kSuccess) return error;
    }
    if (wanted_.traffic) traffic_.on_remote(write);
    if (wanted_.initialised) {
      initialised_.settle_early_reads(initialised_.early_reads_of(event.seat), event.store->to,
                                      [&](const EarlyRead& read) { return settles(read, write); });
    }
    if (!meets_copy(write) && wanted_.races) {
      is_remote(write.place) ? races_.on_remote(write) : races_.on(write);
    }
    if (wanted_.races) races_.on(event);
    if (wanted_.copies) copies_.on(event);
    choose_way();
    return kSuccess;
  }
  void tell(const CopyRead& event) {
    if (wanted_.races) races_.on(read_by(*event.copy));
  }
  void tell(const CopyEnd& event) {
    const AsyncCopy& copy = *event.copy;
    if (wanted_.copies) copies_.on(event);
    choose_way();
    if (wanted_.initialised) check_initialised(write_by(copy));
    // Of a barrier's copies those know who wait there, and nobody else: ordering.h.
    if (wanted_.races && event.is_awaited && !copy.is_at_barrier) {
      const bool reads = copy.from.size > 0 && !copy.is_read;
      if (reads && copy.from_place.area == Area::inside) races_.on(read_by(copy));
      races_.on(write_by(copy));
    }
  }

  /// AsyncCopy::when, for one that the thread begins now.
  std::uint64_t time_stamp(unsigned thread, const Access& write) {
    return wanted_.races ? races_.time_stamp(thread, write) : 0;
  }

  /// An access. There are so many that asking for each checker whether it is wanted would show.
  [[gnu::always_inline]] ErrorCode tell(const AccessEvent& event) {
    if (__builtin_expect(goes_short_way_, 1) || goes_past_copies(event)) {
      return tell_access<true>(event);
    }
    const Place& place = event.place;
    return tell_some(event.thread, event.access, place.area, place.space, place.piece,
                     place.offset);
  }

  /// An access to shared memory of another block of the cluster.
  [[gnu::noinline]] ErrorCode tell_remote(AccessEvent event) {
    if (wanted_.bounds) {
      if (const ErrorCode error = bounds_.on(event); error != kSuccess) return error;
    }
    if (meets_copy(event)) return kSuccess;
    if (wanted_.traffic) traffic_.on_remote(event);
    if (wanted_.initialised) {
      const unsigned seat = remote_seat(event.place);
      Access at_home = event.access;
      at_home.address = memory_.shared.home(event.access.address);
      const bool was_written = initialised_.on_remote(event);
      if (!was_written) {
        const std::uint64_t now = wanted_.races ? races_.time_stamp(event.thread, at_home) : 0;
        initialised_.hold_back_remote(
            {at_home.address, at_home.size, event.thread, at_home.site, now, at_home.is_atomic},
            seat, at_home.is_exchange);
      }
      if (at_home.type != AccessType::read) {
        initialised_.settle_early_reads(
            initialised_.early_reads_of(seat), at_home,
            [&](const EarlyRead& read) { return settles(read, event); });
      }
    }
    if (wanted_.races) races_.on_remote(event);
    return kSuccess;
  }

  /// The launch has ended.
  void keep_for_next() {
    if (wanted_.races) races_.keep_for_next();
  }

  /// The number of the exchange that was told last, if it found what nobody had written; else 0.
  std::uint64_t take_unset_exchange() { return initialised_.take_unset_exchange(); }
  /// The program uses what this one found.
  void use_exchanged(std::uint64_t number) { initialised_.use_exchanged(number); }

  /// Does the thread come to that barrier of the block behind all who have met there?
  bool is_behind_phase(unsigned thread, std::uintptr_t barrier) const {
    return !wanted_.races || races_.is_behind_phase(thread, barrier);
  }

  /// Must the thread wait for the others of its warp, before its next plain access?
  bool is_ahead(unsigned thread) const { return traffic_.is_ahead(thread); }

  void finish(LaunchTraffic& traffic, std::vector<TracedRequest>& trace) {
    traffic_.finish(traffic, trace);
  }

 private:
  /// The others are told only of memory that is there.
  template <bool to_most, bool is_request = true>
  [[gnu::always_inline]] ErrorCode tell_access(const AccessEvent& event) {
    if (to_most || wanted_.bounds) {
      if (const ErrorCode error = bounds_.on(event); error != kSuccess) return error;
    }
    if (event.place.area != Area::inside) return kSuccess;
    if (!to_most && meets_copy(event)) return kSuccess;
    if (!to_most && wanted_.races && races_.may_begin_early()) races_.check_early(event);
    if (is_request && (to_most || wanted_.traffic)) traffic_.on(event);
    if (wanted_.initialised) check_initialised(event);
    if (to_most || wanted_.races) races_.on(event);
    return kSuccess;
  }

  /// The event comes in its parts: as a whole it would come by way of memory.
  [[gnu::noinline, gnu::flatten]] ErrorCode tell_some(unsigned thread, const Access& access,
                                                      Area area, MemorySpace space,
                                                      std::uint32_t piece, std::size_t offset) {
    return tell_access<false>(AccessEvent{thread, access, {area, space, piece, offset}});
  }

  static AccessEvent read_by(const AsyncCopy& copy) {
    return {copy.thread, copy.from, copy.from_place};
  }
  static AccessEvent write_by(const AsyncCopy& copy) {
    return {copy.thread, copy.to, copy.to_place};
  }
  /// Here two checkers meet, too. Who uses a copy's memory while it is under way has not waited for
  /// it; but if nothing orders that behind its begin, it is a race with whoever began it. Then the
  /// answer is no, for the race is told. Behind a store nothing comes but by a wait for it.
  [[gnu::always_inline]] bool meets_copy(const AccessEvent& event) {
    const AsyncCopy* met = wanted_.copies ? copies_.met_by(event) : nullptr;
    return __builtin_expect(met != nullptr, 0) && tell_met(*met, event);
  }
  [[gnu::noinline]] bool tell_met(const AsyncCopy& met, AccessEvent event) {
    if (wanted_.races && !met.is_store && !races_.is_behind(met.when, event.thread)) return false;
    copies_.report(met, event);
    return true;
  }
  template <typename Event>
  ErrorCode tell_of_block(const Event& event) {
    const ErrorCode error = tell<Event>(event);
    choose_way();
    return error;
  }
  void choose_way() {
    may_go_short_way_ = wants_most_ && !races_.may_begin_early();
    goes_short_way_ = may_go_short_way_ && !copies_.are_under_way();
  }
  /// Copies are under way, and the access meets none of them.
  [[gnu::always_inline]] bool goes_past_copies(const AccessEvent& event) {
    return may_go_short_way_ && copies_.met_by(event) == nullptr;
  }

  template <typename Checker, typename Event>
  [[gnu::always_inline]] static ErrorCode tell_one(Checker& checker, const Event& event) {
    if constexpr (requires { checker.on(event); }) {
      if constexpr (std::is_same_v<decltype(checker.on(event)), ErrorCode>) {
        return checker.on(event);
      } else {
        checker.on(event);
      }
    }
    return kSuccess;
  }

  /// Here two checkers meet. A read of shared memory that came before the first write is a race if
  /// nothing orders the two, else a read of what nobody wrote: neither checker knows both.
  [[gnu::always_inline]] void check_initialised(const AccessEvent& event) {
    const Access& access = event.access;
    if (__builtin_expect(initialised_.reads_too_early(event), 0)) {
      const std::uint64_t now = time_stamp(event.thread, access);
      initialised_.hold_back(
          {access.address, access.size, event.thread, access.site, now, access.is_atomic},
          access.is_exchange);
    }
    initialised_.on(event);
    if (access.type != AccessType::read && event.place.space == MemorySpace::shared &&
        __builtin_expect(initialised_.holds_early_reads(), 0)) {
      settle_early_reads(event);
    }
  }
  [[gnu::noinline]] void settle_early_reads(AccessEvent write) {
    initialised_.settle_early_reads(write.access,
                                    [&](const EarlyRead& read) { return settles(read, write); });
  }
  bool settles(const EarlyRead& read, const AccessEvent& write) {
    const bool both_atomic = read.is_atomic && write.access.is_atomic;
    return wanted_.races && !both_atomic && races_.is_race(read, write);
  }

  const Memory& memory_;
  const WantedCheckers wanted_;
  const bool wants_most_;  // all that accesses are told, but for the one that samples go without
  bool may_go_short_way_;  // so, and the launch did not begin early
  bool goes_short_way_;    // so, and no asynchronous copy is under way
  BoundsChecker bounds_;
  BarrierChecker barriers_;
  Traffic traffic_;
  InitialisedChecker initialised_;
  CopyChecker copies_;
  RaceChecker races_;
};

}  // namespace simulator
