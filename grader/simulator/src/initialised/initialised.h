// Reads of memory that nobody has written. A bit for each byte tells.
//
// In shared memory the usual cause is a missing barrier: thread 0 reads what thread 9 has yet to
// write. So such a read is held back, and told only when the next barrier comes without anybody
// having written there; in a cluster, where another block may write there later, when all its
// blocks have ended. If another thread does write, and nothing orders the two, they race, and the
// race is told instead.
#pragma once

#include <algorithm>
#include <vector>

#include "common/per_block.h"
#include "events/events.h"
#include "findings/findings.h"
#include "initialised/host_writes.h"
#include "initialised/initialised_bits.h"
#include "initialised/unset_exchanges.h"
#include "memory/memory.h"

namespace simulator {

/// Of device memory: it outlasts the launch.
struct InitialisedMemory : BesideAllocations<InitialisedBits> {
  HostWrites host_writes;
};

/// What the host has written and no kernel since, in memory that has a name.
void report_host_writes(const DeviceMemory& memory, InitialisedMemory& initialised,
                        Findings& findings);

class InitialisedChecker {
 public:
  InitialisedChecker(const LaunchBegin& launch, const Memory& memory, InitialisedMemory& device,
                     Findings& findings)
      : launch_(launch), memory_(memory), device_(device), findings_(findings) {}

  void on(const BlockBegin& event);
  void on(const BlockResume& event) { blocks_.resume(event); }
  void on(const BlockEnd&);
  void on(const BarrierMet&) {
    if (!launch_.has_clusters()) report_early_reads(blocks_.running());
  }

  [[gnu::always_inline]] void on(const AccessEvent& event) {
    const Access& access = event.access;
    InitialisedBits& bits = bits_of(event.place);
    if (access.type != AccessType::write && event.place.space == MemorySpace::global &&
        __builtin_expect(!bits.all_set(event.place.offset, access.size), 0)) {
      if (is_mistake(event)) bits.set(event.place.offset, access.size);  // once is enough
    }
    if (access.type != AccessType::read) bits.set(event.place.offset, access.size);
  }

  /// Asked before the event is told: does it read shared memory that nobody has written?
  bool reads_too_early(const AccessEvent& event) {
    return event.place.space == MemorySpace::shared && event.access.type != AccessType::write &&
           !bits_of(event.place).all_set(event.place.offset, event.access.size);
  }
  /// Of shared memory of another block. Was it written?
  bool on_remote(const AccessEvent& event);
  /// By the running block, of its own memory or of that of the block on this seat. One by an
  /// exchange waits until its result is used.
  void hold_back(EarlyRead read, bool by_exchange = false);
  void hold_back_remote(EarlyRead read, unsigned seat, bool by_exchange = false);

  /// checkers.h
  std::uint64_t take_unset_exchange() { return unset_exchanges_.take_last(); }
  void use_exchanged(std::uint64_t number) {
    const Findings::Writing writing(findings_);
    unset_exchanges_.use(number);
  }

  /// The list of that block.
  std::vector<EarlyRead>& early_reads_of(unsigned seat) { return blocks_.at(seat).early_reads; }
  bool holds_early_reads() const { return !blocks_.running().early_reads.empty(); }

  /// A thread writes. Forgets the reads of these bytes that were held back, if they race with the
  /// write: then races(read) has told so.
  template <typename Races>
  void settle_early_reads(const Access& write, Races races) {
    settle_early_reads(blocks_.running().early_reads, write, races);
  }
  template <typename Races>
  static void settle_early_reads(std::vector<EarlyRead>& reads, const Access& write, Races races) {
    const auto settled = [&](const EarlyRead& read) {
      return read.address < write.address + write.size &&
             write.address < read.address + read.size && races(read);
    };
    reads.erase(std::remove_if(reads.begin(), reads.end(), settled), reads.end());
  }

 private:
  struct Block {
    std::uint64_t number = 0;
    unsigned first_seat = 0;           // of its cluster, whose
    std::vector<unsigned> seats;       // and
    unsigned ended = 0;                // of these, are known there
    InitialisedBits statics, dynamic;  // of its shared memory
    bool is_new = true;
    std::vector<EarlyRead> early_reads;
  };

  InitialisedBits& bits_of(const Place& place) {
    if (place.space == MemorySpace::global) return device_[place.piece];
    Block& block = blocks_.running();
    return place.piece == kStaticShared ? block.statics : block.dynamic;
  }
  bool is_mistake(AccessEvent event);
  void report_uninitialised(AccessEvent event);
  /// Now, or, of an exchange, when its result is used.
  template <typename Tell>
  void tell(bool by_exchange, Tell tell);
  void report_early_reads(Block& block);

  const LaunchBegin launch_;
  const Memory& memory_;
  InitialisedMemory& device_;
  Findings& findings_;
  PerBlock<Block> blocks_;
  UnsetExchanges unset_exchanges_;
};

}  // namespace simulator
