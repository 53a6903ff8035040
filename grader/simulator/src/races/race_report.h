// The finding about a race: both parties, and what does not order them.
#pragma once

#include <string>

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

  /// The access conflicts with an earlier one of another thread.
  void race(AccessRecord earlier, AccessType earlier_type, AccessEvent event);

  /// Is this one told already, or its like?
  bool is_known(const AccessRecord& earlier, const AccessEvent& event) const {
    return findings_.has_told(kind_of(event), sites_.address(earlier.site()), event.access.site,
                              reach(earlier, event));
  }

  /// The thread writes what another one of its block has read before, unwritten. Most likely the
  /// write is meant to come first.
  void early_read(const EarlyRead& read, AccessEvent write);

 private:
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
  std::string about_volatile(const AccessRecord& earlier, const Access& access,
                             Missing missing) const;

  const LaunchBegin launch_;
  const Memory& memory_;
  const Sites& sites_;
  const Ordering& ordering_;
  Findings& findings_;
  LastCalls calls_;
};

}  // namespace simulator
