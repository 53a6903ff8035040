// Asynchronous copies: from global to shared memory, past the registers, while the thread goes on.
//
//     __pipeline_memcpy_async(&next[i], &x[i], 16);   begins one, and returns at once
//     __pipeline_commit();                            closes a batch of them
//     compute(now);                                   meanwhile
//     __pipeline_wait_prior(0);                       until all but the last 0 batches have landed
//     __syncthreads();                                so that the others may read it too
//
// Between its begin and that wait a copy may read its source and write its destination at any time.
// On a GPU it has mostly landed long before, so that a kernel that reads too early is right nearly
// always. Here it lands as late as it may: the destination holds no useful number until the thread
// waits, and then the source's bytes of that moment. So too early a read gives wrong results, and
// this checker says why. While a copy is under way, nobody may
//
//   - read its destination: not even after a __syncthreads(), for that waits for no copy;
//   - write its destination or its source.
//
// Bulk copies (access/bulk_copies.cpp) are checked here too, as many of 16 bytes, and in both
// directions.
//
// A wait covers what its own thread has begun and committed. For the other threads the copy is a
// write of that thread's, once where it begins and once more at the wait: what comes before the one
// or behind the other with no barrier between is an ordinary race (races/).
#pragma once

#include <cstdint>
#include <string>

#include "common/per_block.h"
#include "copies/bulk_under_way.h"
#include "copies/copies_by_place.h"
#include "events/events.h"
#include "findings/findings.h"
#include "memory/memory.h"

namespace simulator {

class CopyChecker {
 public:
  CopyChecker(const LaunchBegin& launch, const Memory& memory, Findings& findings)
      : launch_(launch), memory_(memory), findings_(findings) {}

  void on(const BlockBegin& event);
  void on(const BlockResume& event) { blocks_.resume(event); }
  void on(const CopyBegin& event);
  void on(const StoreBegin& event) { blocks_.at(event.seat).to.add(*event.store); }
  void on(const CopyEnd& event);
  void on(const CopyLeft& event);

  /// Of the running block. While none is, accesses need not be told.
  bool are_under_way() const {
    const Block& block = blocks_.running();
    return !block.to.empty() || !block.bulk.is_empty();
  }

  /// The copy under way that an access must not meet, but meets; nullptr if there is none.
  [[gnu::always_inline]] const AsyncCopy* met_by(const AccessEvent& event) {
    if (__builtin_expect(is_remote(event.place), 0)) return met_by_remote(event);
    return met_in(blocks_.running(), event.access.address, event.access);
  }
  void report(const AsyncCopy& met, AccessEvent event);

 private:
  struct Block {
    std::uint64_t number = 0;
    CopiesByPlace from{&AsyncCopy::from}, to{&AsyncCopy::to};
    BulkUnderWay bulk;
  };

  /// The access uses this block's memory, from this address on.
  [[gnu::always_inline]] static const AsyncCopy* met_in(Block& block, std::uintptr_t address,
                                                        const Access& access) {
    const bool writes = access.type != AccessType::read;
    const AsyncCopy* met = nullptr;
    if (!block.bulk.is_empty()) met = block.bulk.met_by(address, access.size, writes);
    if (met == nullptr) met = block.to.met_by(address, access.size);
    if (met == nullptr && writes) met = block.from.met_by(address, access.size);
    return met;
  }
  [[gnu::noinline]] const AsyncCopy* met_by_remote(AccessEvent event);

  static std::string why_under_way(const AsyncCopy& copy, bool is_own);
  /// The block whose copies an access may meet: of another one's shared memory, that one.
  Block& owner(const AccessEvent& event) {
    return is_remote(event.place) ? blocks_.at(remote_seat(event.place)) : blocks_.running();
  }

  /// Does the access meet the copy where it reads, and not where it writes?
  bool is_at_source(const AsyncCopy& copy, const Access& access) const;

  const LaunchBegin launch_;
  const Memory& memory_;
  Findings& findings_;
  PerBlock<Block> blocks_;
};

}  // namespace simulator
