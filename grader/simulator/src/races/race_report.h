// The finding about a race: both parties, and what does not order them.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "events/events.h"
#include "findings/findings.h"
#include "memory/memory.h"
#include "races/between.h"
#include "races/ordering.h"
#include "source/sites.h"

namespace simulator {

class RaceReport {
 public:
  RaceReport(const LaunchBegin& launch, const Memory& memory, const Sites& sites,
             const Ordering& ordering, Findings& findings)
      : launch_(launch),
        memory_(memory),
        sites_(sites),
        ordering_(ordering),
        findings_(findings),
        calls_(ordering) {}

  void on(const BlockBegin& event) { calls_.on(event); }
  void on(const BlockResume& event) { calls_.on(event); }
  void on(const WarpCall& event) { calls_.on(event); }

  /// The access conflicts with an earlier one of another thread. If both write, what the second one
  /// writes is not known yet, and it is held back. Of a read beside a write it is not asked whether
  /// that changed anything. If not, it may be for this input, or for the order in which blocks run
  /// here: the one that is the last at one counter is the last at the next, so `is_last` is written
  /// over with what it was. On a GPU it need not be, and who reads it late gets another value.
  void race(AccessRecord earlier, AccessType earlier_type, AccessEvent event);
  /// The same of a read, if the access writes. `written`: by whom what was read had been written.
  void overwrites(AccessRecord read, AccessRecord written, AccessEvent event);

  /// Before anything that may order a write behind the one that is held back: is its value the same
  /// as before?
  void settle() {
    if (!held_.earlier.empty()) settle_as(is_changed() ? Values::different : Values::same);
  }
  /// Another block goes on, and shared memory is its own already.
  void settle_without_shared_memory() {
    if (held_.place.space == MemorySpace::global) return settle();
    if (!held_.earlier.empty()) settle_as(Values::unknown);
  }

  /// Is this one told already, or its like?
  bool is_known(const AccessRecord& earlier, const AccessEvent& event) const {
    return findings_.has_told(kind_of(event), sites_.address(earlier.site()), event.access.site,
                              reach(earlier, event));
  }

  /// The thread writes what another one of its block has read before, unwritten. Most likely the
  /// write is meant to come first.
  void early_read(const EarlyRead& read, AccessEvent write);

  /// Takes back races of an atomic with plain reads at these places.
  void withdraw_reads(const std::set<CodeAddress>& places) {
    if (!places.empty()) findings_.withdraw_reads(places);
  }

  /// Two blocks use a word atomically, one of them for its own threads only.
  void narrow_atomics(const AccessRecord& earlier, AccessEvent event);

  /// The thread writes over what it has read of another block's, with a fence of that one's alone.
  void not_acquired(const AccessRecord& written, const AccessRecord& read, AccessEvent event);

  /// A load by the read-only path reads what the launch has written.
  void read_only_load(const AccessRecord& earlier, AccessType type, AccessEvent load);

  /// The thread reads what another one stores asynchronously, and has not waited for it.
  void not_awaited(const AccessRecord& earlier, AccessEvent event);

  /// A bulk copy reads what a store has written, with no fence of the proxy's between.
  void unfenced(const AccessRecord& store, const AsyncCopy& copy);

 private:
  /// What two writes leave behind.
  enum class Values { unknown, same, different };

  /// A write that races with earlier ones, and what the memory held before it.
  struct HeldWrite {
    std::vector<AccessRecord> earlier;
    unsigned thread = 0;
    Access access = {};
    Place place = {};
    unsigned char before[16] = {};

    bool is(const AccessEvent& event) const {
      return thread == event.thread && access.address == event.access.address &&
             access.site == event.access.site;
    }
  };
  void hold_back(AccessRecord earlier, AccessEvent write);
  bool is_changed() const;
  void settle_as(Values values);
  void tell(AccessRecord earlier, AccessType earlier_type, AccessEvent event, Values values,
            AccessRecord written = {});
  bool is_of_one_line(const AccessRecord& earlier, const AccessEvent& event) const;

  /// A part of the message, and what the two lack.
  struct Reason {
    std::string text;
    Missing missing;
  };
  Reason between_blocks(const AccessRecord& earlier, const AccessEvent& event) const;
  Reason within_block(const Racer& first, const Racer& second) const;
  static Kind kind_of(const AccessEvent& event) {
    return event.place.space == MemorySpace::shared ? Kind::shared_race : Kind::global_race;
  }
  Reach reach(const AccessRecord& earlier, const AccessEvent& event) const;
  bool is_volatile(const AccessRecord& earlier, const Access& access) const;
  bool is_not_awaited(const AccessRecord& earlier, AccessType earlier_type,
                      const Access& access) const;
  std::string about_store(const AccessRecord& earlier, const Access& access) const;
  std::string about_volatile(const AccessRecord& earlier, const Access& access,
                             Missing missing) const;

  const LaunchBegin launch_;
  const Memory& memory_;
  const Sites& sites_;
  const Ordering& ordering_;
  Findings& findings_;
  LastCalls calls_;
  HeldWrite held_;
};

}  // namespace simulator
