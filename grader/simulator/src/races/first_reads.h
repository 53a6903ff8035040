// The first read of a compare-and-swap loop.
//
// The programming guide writes an atomic operation of one's own as
//
//     int old = *address, assumed;
//     do { assumed = old; old = atomicCAS(address, assumed, f(assumed)); } while (assumed != old);
//
// Its first read is no atomic, and others change the word meanwhile. But whatever it reads, the
// word is changed only if it still holds that. So a read that races with an atomic is held back
// until the thread uses the word again: is that a compare-and-swap that finds what it looks for,
// the read has harmed nobody.
//
// The loop may also be left at once, as in a maximum of floats, while (value > old) { ... }. Then
// no compare-and-swap follows, but the read stands where others of the launch have theirs
// confirmed: so of such a place no race with an atomic is told.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "events/events.h"
#include "races/ordering.h"
#include "races/race_report.h"
#include "source/sites.h"

namespace simulator {

/// A compare-and-swap, of memory that is there, that finds what it looks for.
bool confirms_first_read(const Access& access);

class FirstReads {
 public:
  FirstReads(const Ordering& ordering, const Sites& sites, RaceReport& report)
      : ordering_(ordering), sites_(sites), report_(report) {}

  /// The thread reads plainly what another one has updated atomically, and nothing orders the two.
  void hold_back(AccessRecord atomic, AccessEvent read);
  /// The thread updates atomically what another one has read plainly. False if that one has nothing
  /// more to do: then it is a race. (So it is taken if they are of two blocks, too.)
  bool hold_back(AccessRecord read, AccessRecord atomic, AccessEvent update);
  /// A thread uses memory in which there have been atomics: was that what it has read?
  void settle(const AccessEvent& now) {
    if (!reads_.empty()) settle_all(now);
  }
  void on(const ThreadReturn& event);
  /// A compare-and-swap finds what it looks for: what the same thread has read there.
  void confirm(const AccessRecord& read) { confirmed_.insert(sites_.address(read.site())); }
  /// The places of reads that were confirmed in this launch.
  const std::set<CodeAddress>& confirmed() const { return confirmed_; }

 private:
  struct Read {
    AccessRecord atomic;
    std::uint64_t block;
    unsigned thread;
    Access access;
    Place place;
  };
  static constexpr std::size_t kMost = 1024;

  bool keep(const Read& read);
  void settle_all(AccessEvent now);

  bool is_by(const Read& read, unsigned thread) const {
    return read.thread == thread && read.block == ordering_.block();
  }
  void tell(const Read& read) {
    report_.race(read.atomic, AccessType::atomic, {read.thread, read.access, read.place});
  }

  const Ordering& ordering_;
  const Sites& sites_;
  RaceReport& report_;
  std::vector<Read> reads_;
  std::set<CodeAddress> confirmed_;
};

}  // namespace simulator
