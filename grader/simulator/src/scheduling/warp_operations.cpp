// What the lanes of a warp do together: shuffles, votes, matches, reductions, __syncwarp.
//
// A lane that calls one leaves its request with its warp and waits. The request is complete when
// all lanes that its mask names, and that have not returned, ask for the same operation with the
// same mask; the lane that completes it computes all answers. Lanes run one after another in
// between, so a mask that names a lane which never comes is noticed when nobody can go on.
#include "scheduling/stopping.h"
#include "scheduling/waiting.h"
#include "scheduling/warp_values.h"

namespace simulator {
namespace {

/// The answers of a shuffle: each lane's from the lane that it names.
void shuffle(Launch& launch, Thread& any_lane, unsigned group) {
  Block& block = *launch.block;
  Warp& warp = block.warp_of(any_lane);
  ValuesCarried carried = {any_lane.number / 32u, group, true, {}};
  for (int lane = 0; lane < 32; ++lane) {
    if (!(group >> lane & 1)) continue;
    const int source = shuffle_source(warp.request[lane], lane);
    carried.from[lane] = static_cast<std::uint8_t>(group >> source & 1 ? source : lane);
    if (group >> source & 1) {
      warp.answer[lane] = warp.request[source].value;
    } else {
      launch.checkers.tell(UndefinedSource{block.lane_of(any_lane, lane).number, source});
      warp.answer[lane] = kUndefinedValue;
    }
  }
  launch.checkers.tell(carried);
}

/// These lanes have their answers.
void wake(Launch& launch, Thread& any_lane, unsigned group) {
  launch.checkers.tell(LanesGoOn{any_lane.number / 32u, group});
  for (unsigned left = group; left != 0; left &= left - 1) {
    launch.block->lane_of(any_lane, __builtin_ctz(left)).state = ThreadState::ready;
  }
}

/// Answers the lanes that ask together with `lane`, if all have come.
void try_complete(Launch& launch, Thread& any_lane, int lane) {
  Warp& warp = launch.block->warp_of(any_lane);
  const WarpRequest& request = warp.request[lane];
  const unsigned group = request.mask & warp.live;
  if ((warp.waiting & group) != group) return;
  for (int other = 0; other < 32; ++other) {
    if ((group >> other & 1) && (warp.request[other].mask != request.mask ||
                                 warp.request[other].operation != request.operation)) {
      return;
    }
  }
  if (is_shuffle(request.operation)) {
    shuffle(launch, any_lane, group);
  } else if (request.operation == WarpOperation::sync) {
    launch.checkers.tell(SyncwarpMet{any_lane.number / 32u, group});
  } else {
    combine(request.operation, warp, group);
    launch.checkers.tell(ValuesCarried{any_lane.number / 32u, group, false, {}});
  }
  warp.waiting &= ~group;
  wake(launch, any_lane, group);
}

/// When every lane of the warp waits for something, the lanes that ask for __activemask() at one
/// place are the active ones there, if they came together. Those that have gone round a loop more
/// often come later: a GPU may let them meet the others there again, and need not.
void try_answer_active_mask(Launch& launch, Thread& any_lane) {
  Block& block = *launch.block;
  Warp& warp = block.warp_of(any_lane);
  if (warp.asking == 0) return;
  for (int lane = 0; lane < 32; ++lane) {
    if ((warp.live >> lane & 1) && block.lane_of(any_lane, lane).state == ThreadState::ready) {
      return;
    }
  }
  const Thread& first = block.lane_of(any_lane, __builtin_ctz(warp.asking));
  unsigned group = 0;
  for (unsigned left = warp.asking; left != 0; left &= left - 1) {
    const Thread& other = block.lane_of(any_lane, __builtin_ctz(left));
    if (other.wait_site == first.wait_site && other.path == first.path) group |= left & -left;
  }
  for (unsigned left = group; left != 0; left &= left - 1) {
    warp.answer[__builtin_ctz(left)] = group;
  }
  warp.asking &= ~group;
  wake(launch, any_lane, group);
}

}  // namespace

void warp_lane_stopped(Launch& launch, Thread& thread) {
  Warp& warp = launch.block->warp_of(thread);
  for (unsigned left = warp.waiting; left != 0; left &= left - 1) {
    const int lane = __builtin_ctz(left);
    if (warp.waiting >> lane & 1) try_complete(launch, thread, lane);
  }
  try_answer_active_mask(launch, thread);
}

std::uint64_t warp_operation(WarpOperation operation, unsigned mask, std::uint64_t value,
                             int argument, int width) {
  Launch* launch = launch_of_kernel();
  if (launch == nullptr) return value;
  const auto site = reinterpret_cast<CodeAddress>(__builtin_return_address(0));
  obey_stop(*launch, site);
  Thread& thread = *launch->thread;
  thread.last_site = thread.wait_site = site;
  tell_or_stop(*launch, WarpCall{thread.number, operation, mask, width, site});
  Warp& warp = launch->block->warp_of(thread);
  warp.request[thread.lane] = {operation, mask, value, argument, width};
  warp.waiting |= 1u << thread.lane;
  thread.state = ThreadState::in_warp_operation;
  try_complete(*launch, thread, thread.lane);
  if (thread.state != ThreadState::ready) {
    try_answer_active_mask(*launch, thread);
    wait_for_others(*launch);
  }
  begin_path(*launch);
  return warp.answer[thread.lane];
}

unsigned active_mask() {
  Launch* launch = launch_of_kernel();
  if (launch == nullptr) return 1;
  const auto site = reinterpret_cast<CodeAddress>(__builtin_return_address(0));
  obey_stop(*launch, site);
  Thread& thread = *launch->thread;
  thread.last_site = thread.wait_site = site;
  Warp& warp = launch->block->warp_of(thread);
  warp.asking |= 1u << thread.lane;
  launch->checkers.tell(ActiveMaskCall{thread.number, site});
  thread.state = ThreadState::in_warp_operation;
  count_path(*launch);
  try_answer_active_mask(*launch, thread);
  if (thread.state != ThreadState::ready) wait_for_others(*launch);
  begin_path(*launch);
  const unsigned answer = static_cast<unsigned>(warp.answer[thread.lane]);
  launch->checkers.tell(ActiveMaskAnswer{thread.number, answer});
  return answer;
}

}  // namespace simulator
