// Nobody can go on: says who waits for what.
#include "barriers/barriers.h"
#include "findings/texts.h"

namespace simulator {
namespace {

std::string lane_list(unsigned lanes) {
  std::string text;
  int left = 4;
  for (; lanes != 0; lanes &= lanes - 1) {
    if (left-- == 0) return text + ", ...";
    text += (text.empty() ? "" : ", ") + std::to_string(__builtin_ctz(lanes));
  }
  return text;
}

/// barrier: its address, or, of a named one, its number.
std::string missing_text(const StillMissing& missing, std::uintptr_t barrier) {
  if (barrier < kNamedBarriers) {
    return "Barrier number " + std::to_string(barrier) + " of the block waits for " +
           std::to_string(missing.arrivals) +
           " more threads, which never come: as many must come to it, of whole warps, as they say.";
  }
  const std::string expects = "A barrier in shared memory expects ";
  if (missing.arrivals == 0) {
    return expects + std::to_string(missing.bytes) +
           " more bytes, which never come: as many must be copied or stored in each phase as it "
           "was "
           "told to expect.";
  }
  return expects +
         (missing.arrivals == 1
              ? "one more arrival, which never comes"
              : std::to_string(missing.arrivals) + " more arrivals, which never come") +
         ": as many must arrive in each phase as init() was told, less those that have dropped "
         "out.";
}

std::string blocks_text(std::uint64_t count) {
  return count == 1 ? "one block waits" : std::to_string(count) + " blocks wait";
}

}  // namespace

/// Another thread of the warp, which the mask of this one names, and which waits in a warp
/// operation with another mask or another operation; -1 if there is none.
int BarrierChecker::lane_that_differs(unsigned thread) const {
  const Block& block = blocks_.running();
  const Thread& mine = block.threads[thread];
  for (unsigned left = block.warps[thread / 32].in_operation & mine.mask; left != 0;
       left &= left - 1) {
    const unsigned i = thread / 32 * 32 + static_cast<unsigned>(__builtin_ctz(left));
    const Thread& other = block.threads[i];
    if (other.mask != mine.mask || other.operation != mine.operation) return static_cast<int>(i);
  }
  return -1;
}

std::string BarrierChecker::call_text(unsigned thread) const {
  const Thread& call = blocks_.running().threads[thread];
  return std::string("waits in ") + operation_name(call.operation) + " with mask " +
         mask_text(call.mask);
}

Finding BarrierChecker::deadlock_in_warp(unsigned thread) const {
  const std::vector<Thread>& threads = blocks_.running().threads;
  const Thread& call = threads[thread];
  const Party waiting = party_of(thread, threads[thread].site, call_text(thread));
  Finding finding{Kind::deadlock, launch_.kernel, "", false, {waiting}};
  if (const int other = lane_that_differs(thread); other >= 0) {
    const auto number = static_cast<unsigned>(other);
    finding.kind = Kind::bad_warp_mask;
    finding.message =
        "Lanes of one warp wait for each other in warp operations that do not match: all lanes "
        "named in the mask must call the same operation with the same mask.";
    finding.parties.push_back(party_of(number, threads[number].site, call_text(number)));
    return finding;
  }
  const Warp& warp = blocks_.running().warps[thread / 32];
  const unsigned first = thread / 32 * 32;
  const unsigned there = low_lanes(threads.size() - first);
  // Lanes that the mask names, and that are elsewhere.
  const unsigned missing = call.mask & there & ~warp.returned & ~warp.in_operation;
  const unsigned absent = missing == 0 ? 0 : first + static_cast<unsigned>(__builtin_ctz(missing));
  if ((missing & -missing & warp.at_barrier) != 0) {
    finding.message =
        "Some threads wait at a __syncthreads(), and others of their warp in a warp operation "
        "whose mask names them too: one of the two is in a branch that not all of them enter.";
    finding.parties = {waiting_party(absent), waiting};
    return finding;
  }
  finding.message = std::string(operation_name(call.operation)) + " waits for lanes " +
                    lane_list(missing) + ", which its mask " + mask_text(call.mask) +
                    " names but which never call it.";
  if (missing != 0) {
    finding.parties.push_back(party_of(absent, threads[absent].site, "waits elsewhere"));
  }
  return finding;
}

/// The number of the first thread that waits at a barrier of this scope, or -1.
int BarrierChecker::waits_at(BarrierScope scope) const {
  const Block& block = blocks_.running();
  for (unsigned i = 0; i < block.threads.size(); ++i) {
    if ((block.warps[i / 32].at_barrier >> i % 32 & 1) && block.threads[i].scope == scope) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

/// Where another thread waits, which might have arrived.
void BarrierChecker::add_one_elsewhere(Finding& finding, unsigned thread) const {
  const Block& block = blocks_.running();
  for (unsigned i = 0; i < block.threads.size(); ++i) {
    if ((block.warps[i / 32].at_split >> i % 32 & 1) &&
        block.threads[i].barrier != block.threads[thread].barrier) {
      finding.parties.push_back(party_of(i, block.threads[i].site, "waits at another barrier"));
      return;
    }
  }
  if (const int other = first_in(&Warp::at_barrier); other >= 0) {
    finding.parties.push_back(waiting_party(static_cast<unsigned>(other)));
  } else if (const int lane = first_in(&Warp::in_operation); lane >= 0) {
    const auto number = static_cast<unsigned>(lane);
    finding.parties.push_back(party_of(number, block.threads[number].site, call_text(number)));
  }
}

Finding BarrierChecker::deadlock_at_split_barrier(unsigned thread) const {
  const Thread& call = blocks_.running().threads[thread];
  const Party waiting = party_of(thread, call.site, "waits at the barrier");
  const std::string message =
      missing_text(blocks_.running().missing.at(call.barrier), call.barrier);
  Finding finding{Kind::deadlock, launch_.kernel, message, false, {waiting}};
  add_one_elsewhere(finding, thread);
  return finding;
}

ErrorCode BarrierChecker::on(const BlockStuck&) {
  const Findings::Writing writing(findings_);
  const int at_own = waits_at(BarrierScope::block);
  const int at_grid = waits_at(BarrierScope::grid);
  const int thread = first_in(&Warp::in_operation);
  const int split = first_in(&Warp::at_split);
  if (at_own >= 0 && at_grid >= 0) {
    findings_.add(Kind::barrier_divergence, launch_.kernel,
                  "Some threads of the block wait at a __syncthreads(), and others at a "
                  "grid.sync(): every thread of the block must reach the same barriers.",
                  {waiting_party(static_cast<unsigned>(at_own)),
                   waiting_party(static_cast<unsigned>(at_grid))});
  } else if (split >= 0 && (thread < 0 || lane_that_differs(static_cast<unsigned>(thread)) < 0)) {
    findings_.add(deadlock_at_split_barrier(static_cast<unsigned>(split)));
  } else if (thread >= 0) {
    findings_.add(deadlock_in_warp(static_cast<unsigned>(thread)));
  } else if (const int waiting = first_in(&Warp::at_barrier); waiting >= 0) {
    findings_.add(Kind::deadlock, launch_.kernel, "No thread of the block can go on.",
                  {waiting_party(static_cast<unsigned>(waiting))});
  }
  return kErrorLaunchTimeout;
}

ErrorCode BarrierChecker::on(const AllBlocksWait& event) {
  const Findings::Writing writing(findings_);
  std::string message =
      "Every block that has begun waits for a word in memory to change, and none will change it.";
  if (event.unstarted > 0) {
    message +=
        (event.unstarted == 1 ? std::string(" One block of the grid has not begun: it starts")
                              : " " + std::to_string(event.unstarted) +
                                    " blocks of the grid have not begun: they start") +
        " only when others end, so a block must not wait for them.";
  }
  if (event.at_grid > 0) {
    message = "This block waits for a word in memory to change, while " +
              blocks_text(event.at_grid) +
              " at a grid.sync(), for this one among others: none will change it.";
  }
  findings_.add(Kind::deadlock, launch_.kernel, message,
                {party_of(event.thread, event.site, "tries again and again")});
  return kErrorLaunchTimeout;
}

void BarrierChecker::on(const ClusterMissed& event) {
  const Findings::Writing writing(findings_);
  const bool in_own_block = event.other_block == blocks_.running().number;
  findings_.add(Kind::barrier_divergence, launch_.kernel,
                std::string("Some threads of a cluster wait at its barrier, and others ") +
                    (in_own_block ? "of their block" : "of another block") +
                    " elsewhere: every thread of the cluster must reach each cluster.sync().",
                {waiting_party(event.thread), party(launch_, event.other_block, event.other_thread,
                                                    event.other_site, "waits elsewhere")});
}

void BarrierChecker::on(const GridMissed& event) {
  const Findings::Writing writing(findings_);
  const Party waiting = waiting_party(event.thread);
  const Party missed =
      party(launch_, event.block, event.last_thread, event.last_site,
            event.last_site == 0 ? "had returned before" : "did this last, and returned");
  if (event.block == blocks_.running().number) {
    findings_.add(Kind::barrier_divergence, launch_.kernel,
                  "Thread 0 of the block has returned before a grid.sync() that others of the "
                  "block reach. It is the one that tells the grid that its block has come, and "
                  "that waits for the others: this block goes on without them, and a block whose "
                  "thread 0 is there waits for ever.",
                  {waiting, missed});
    return;
  }
  findings_.add(Kind::deadlock, launch_.kernel,
                "Blocks wait at a grid.sync() for others that have ended without it (" +
                    std::to_string(event.ended) +
                    "): every block of the grid must reach each grid.sync().",
                {waiting, missed});
}

}  // namespace simulator
