#include "barriers/warp_operations.h"

#include <string>

#include "barriers/warp_values.h"
#include "findings/findings.h"
#include "races/ordering.h"
#include "runtime/errors.h"
#include "scheduling/execution.h"
#include "scheduling/stopping.h"

namespace simulator {
namespace {

bool is_shuffle(WarpOperation operation) {
  return operation >= WarpOperation::shuffle && operation <= WarpOperation::shuffle_xor;
}

void report_inactive_read(Block& block, const Thread& reader, int source, unsigned mask) {
  if (!findings().is_first(Kind::inactive_lane_read, reader.wait_site)) return;
  const ReportInProgress guard;
  const WarpRequest& request = block.warp_of(reader).request[reader.lane];
  findings().add(
      {Kind::inactive_lane_read,
       now.launch->kernel,
       std::string(operation_name(request.operation)) +
           " reads a lane that does not take part (mask " + mask_text(mask) +
           "): the value is undefined. This is harmless only where the result is not used.",
       true,
       {party(reader, reader.wait_site, "reads lane " + std::to_string(source))}});
}

void report_returned_source(const Thread& reader, const Thread& source,
                            const WarpRequest& request) {
  if (!findings().is_first(Kind::early_return, reader.wait_site)) return;
  const ReportInProgress guard;
  findings().add(
      {Kind::early_return,
       now.launch->kernel,
       std::string(operation_name(request.operation)) +
           " reads a lane whose thread has returned before: the value is undefined. This is "
           "harmless only where the result is not used.",
       true,
       {party(reader, reader.wait_site, "reads lane " + std::to_string(source.lane)),
        party(source, 0, "had returned before")}});
}

/// Lane `source`, which another one reads, does not take part. That is no error by itself: a tree
/// of shuffles reads past its end in lanes whose results nobody uses. The reader gets
/// kUndefinedValue, which shows in the results if it counts.
void report_missing_source(Block& block, const Thread& reader, int source) {
  const WarpRequest& request = block.warp_of(reader).request[reader.lane];
  const unsigned number = reader.number / 32u * 32u + static_cast<unsigned>(source);
  if ((request.mask >> source & 1) && number < block.threads.size()) {
    report_returned_source(reader, block.threads[number], request);
  } else {
    report_inactive_read(block, reader, source, request.mask);
  }
}

/// The answers of a shuffle: each lane's from the lane that it names.
void shuffle(Block& block, Thread& any_lane, unsigned group) {
  Warp& warp = block.warp_of(any_lane);
  for (int lane = 0; lane < 32; ++lane) {
    if (!(group >> lane & 1)) continue;
    const int source = shuffle_source(warp.request[lane], lane);
    if (group >> source & 1) {
      warp.answer[lane] = warp.request[source].value;
    } else {
      report_missing_source(block, block.lane_of(any_lane, lane), source);
      warp.answer[lane] = kUndefinedValue;
    }
  }
}

/// Answers the lanes that ask together with `lane`, if all have come.
void try_complete(Block& block, Thread& any_lane, int lane) {
  Warp& warp = block.warp_of(any_lane);
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
    shuffle(block, any_lane, group);
  } else if (request.operation == WarpOperation::sync) {
    note_syncwarp(block, any_lane.number / 32u, group);
  } else {
    combine(request.operation, warp, group);
  }
  warp.waiting &= ~group;
  warp.requests.go_on(group);
  for (int other = 0; other < 32; ++other) {
    if (group >> other & 1) block.lane_of(any_lane, other).state = ThreadState::ready;
  }
}

/// When every lane of the warp waits for something, the lanes that ask for __activemask() at one
/// place are the active ones there.
void try_answer_active_mask(Block& block, Thread& any_lane) {
  Warp& warp = block.warp_of(any_lane);
  if (warp.asking == 0) return;
  for (int lane = 0; lane < 32; ++lane) {
    if ((warp.live >> lane & 1) && block.lane_of(any_lane, lane).state == ThreadState::ready) {
      return;
    }
  }
  const CodeAddress site = block.lane_of(any_lane, __builtin_ctz(warp.asking)).wait_site;
  unsigned group = 0;
  for (int lane = 0; lane < 32; ++lane) {
    if ((warp.asking >> lane & 1) && block.lane_of(any_lane, lane).wait_site == site) {
      group |= 1u << lane;
    }
  }
  for (int lane = 0; lane < 32; ++lane) {
    if (!(group >> lane & 1)) continue;
    warp.answer[lane] = group;
    warp.requests.go_on(1u << lane);
    block.lane_of(any_lane, lane).state = ThreadState::ready;
  }
  warp.asking &= ~group;
}

[[noreturn]] void stop_for_mask(const Thread& thread, WarpOperation operation, unsigned mask,
                                const std::string& what) {
  findings().add(
      {Kind::bad_warp_mask,
       now.launch->kernel,
       std::string(operation_name(operation)) + " with mask " + mask_text(mask) + ' ' + what,
       false,
       {party(thread, thread.wait_site, std::string("calls ") + operation_name(operation))}});
  stop_launch(kErrorLaunchFailure);
}

}  // namespace

const char* operation_name(WarpOperation operation) {
  switch (operation) {
    case WarpOperation::sync:
      return "__syncwarp";
    case WarpOperation::shuffle:
      return "__shfl_sync";
    case WarpOperation::shuffle_up:
      return "__shfl_up_sync";
    case WarpOperation::shuffle_down:
      return "__shfl_down_sync";
    case WarpOperation::shuffle_xor:
      return "__shfl_xor_sync";
    case WarpOperation::ballot:
      return "__ballot_sync";
    case WarpOperation::any:
      return "__any_sync";
    case WarpOperation::all:
      return "__all_sync";
    case WarpOperation::match_any:
      return "__match_any_sync";
    case WarpOperation::match_all:
      return "__match_all_sync";
    case WarpOperation::add_unsigned:
    case WarpOperation::add_signed:
      return "__reduce_add_sync";
    case WarpOperation::min_unsigned:
    case WarpOperation::min_signed:
      return "__reduce_min_sync";
    case WarpOperation::max_unsigned:
    case WarpOperation::max_signed:
      return "__reduce_max_sync";
    case WarpOperation::bit_and:
      return "__reduce_and_sync";
    case WarpOperation::bit_or:
      return "__reduce_or_sync";
    case WarpOperation::bit_xor:
      return "__reduce_xor_sync";
  }
  return "warp operation";
}

std::string mask_text(unsigned mask) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text = "0x";
  for (int shift = 28; shift >= 0; shift -= 4) text += kDigits[mask >> shift & 15];
  return text;
}

void warp_lane_stopped(Block& block, Thread& thread) {
  Warp& warp = block.warp_of(thread);
  for (unsigned left = warp.waiting; left != 0; left &= left - 1) {
    const int lane = __builtin_ctz(left);
    if (warp.waiting >> lane & 1) try_complete(block, thread, lane);
  }
  try_answer_active_mask(block, thread);
}

std::uint64_t warp_operation(WarpOperation operation, unsigned mask, std::uint64_t value,
                             int argument, int width) {
  Thread* thread = now.thread;
  if (thread == nullptr) return value;
  const auto site = reinterpret_cast<CodeAddress>(__builtin_return_address(0));
  obey_stop(site);
  thread->last_site = thread->wait_site = site;
  if (!(mask >> thread->lane & 1)) {
    const ReportInProgress guard;
    stop_for_mask(*thread, operation, mask,
                  "leaves out the lane that calls it, lane " + std::to_string(thread->lane) + '.');
  }
  if (is_shuffle(operation) && (width < 1 || width > 32 || (width & (width - 1)) != 0)) {
    const ReportInProgress guard;
    stop_for_mask(*thread, operation, mask,
                  "has width " + std::to_string(width) + ": it must be 1, 2, 4, 8, 16 or 32.");
  }
  Warp& warp = now.block->warp_of(*thread);
  warp.request[thread->lane] = {operation, mask, value, argument, width, site, now.block->interval};
  warp.waiting |= 1u << thread->lane;
  warp.requests.stop(thread->lane, warp.live, now.launch->traffic);
  thread->state = ThreadState::in_warp_operation;
  try_complete(*now.block, *thread, thread->lane);
  if (thread->state != ThreadState::ready) {
    try_answer_active_mask(*now.block, *thread);
    wait_for_others();
  }
  return warp.answer[thread->lane];
}

unsigned active_mask() {
  Thread* thread = now.thread;
  if (thread == nullptr) return 1;
  const auto site = reinterpret_cast<CodeAddress>(__builtin_return_address(0));
  obey_stop(site);
  thread->last_site = thread->wait_site = site;
  Warp& warp = now.block->warp_of(*thread);
  warp.asking |= 1u << thread->lane;
  warp.requests.stop(thread->lane, warp.live, now.launch->traffic);
  thread->state = ThreadState::in_warp_operation;
  try_answer_active_mask(*now.block, *thread);
  if (thread->state != ThreadState::ready) wait_for_others();
  return static_cast<unsigned>(warp.answer[thread->lane]);
}

}  // namespace simulator
