// Shared memory of another block, before that block has begun or after it has ended.
//
// A block's shared memory is there from its begin to its end. The blocks of a cluster are put on
// the device together, but which thread of them comes first is open: so a thread that uses another
// block's memory must come behind a cluster.sync(), or what else shows that the other has begun;
// and the other must not end before such an access, which takes a cluster.sync() behind it. As with
// races it does not matter what happened in this run: what nothing orders is told.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "events/events.h"
#include "findings/findings.h"
#include "memory/memory.h"
#include "races/ordering.h"

namespace simulator {

class ClusterLifetime {
 public:
  ClusterLifetime(const LaunchBegin& launch, const Memory& memory, const Ordering& ordering,
                  Findings& findings)
      : launch_(launch), memory_(memory), ordering_(ordering), findings_(findings) {}

  void on(const BlockBegin& event);
  /// The running block ends: may somebody still use its memory?
  void on(const BlockEnd& event);
  /// The running block uses memory of another one: before, and when that is checked.
  void check_begun(const AccessEvent& event);
  void note_visit(const AccessEvent& event, const AccessRecord& record);

 private:
  struct Visit {  // of a thread of another block, the last one
    AccessRecord record;
    Access access;
    Place place;
  };
  struct Owner {
    std::uint64_t block = 0;
    bool has_ended = false;
    BlockEnd end = {};
    std::map<std::pair<std::uint64_t, unsigned>, Visit> visits;  // by block and thread
  };

  bool is_over(const Visit& visit, unsigned threads) const;
  void tell_unbegun(const AccessEvent& event, const Owner& owner);
  void tell_ended(const Visit& visit, std::uint64_t by_block, unsigned by_thread,
                  const Owner& owner);

  const LaunchBegin launch_;
  const Memory& memory_;
  const Ordering& ordering_;
  Findings& findings_;
  std::map<unsigned, Owner> owners_;  // by seat
};

}  // namespace simulator
