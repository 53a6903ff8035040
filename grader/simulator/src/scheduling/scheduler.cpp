#include "scheduling/scheduler.h"

#include <algorithm>

#include "access/uninitialised.h"
#include "barriers/barriers.h"
#include "barriers/deadlock.h"
#include "barriers/warp_operations.h"
#include "races/ordering.h"
#include "runtime/errors.h"
#include "scheduling/limits.h"

namespace simulator {
namespace {

/// How many turns each block of a full house gets in which nobody makes progress.
constexpr unsigned kIdleTurns = 16;

std::uint64_t volume(const uint3& shape) {
  return std::uint64_t{shape.x} * shape.y * shape.z;
}

unsigned low_lanes(unsigned count) {
  return count >= 32 ? ~0u : (1u << count) - 1;
}

/// What a thread does: the kernel, then its farewell.
void thread_body(void*) {
  now.launch->body(now.launch->arguments);
  Thread& thread = *now.thread;
  Block& block = *now.block;
  thread.state = ThreadState::returned;
  --block.live;
  Warp& warp = block.warp_of(thread);
  warp.live &= ~(1u << thread.lane);
  warp.requests.stop(thread.lane, warp.live, now.launch->traffic);
  warp_lane_stopped(block, thread);
  barrier_thread_returned(block);
  for (;;) wait_for_others();
}

}  // namespace

Execution now;
__thread ThreadView current_thread_writable;

Scheduler& scheduler() {
  static Scheduler instance;
  return instance;
}

Errors& errors() {
  static Errors state;
  return state;
}

Party party(const Thread& thread, CodeAddress site, std::string action) {
  const SourceLine& line = source_line(site);
  Party result;
  result.action = std::move(action);
  result.file = line.file;
  result.line = line.line;
  result.thread = {thread.index.x, thread.index.y, thread.index.z};
  result.block = {now.block->index.x, now.block->index.y, now.block->index.z};
  result.warp = thread.number / 32;
  result.lane = thread.lane;
  return result;
}

void wait_for_others() {
  now.thread->fiber.suspend();
}

void let_warp_catch_up() {
  Warp& warp = now.block->warp_of(*now.thread);
  const int lane = now.thread->lane;
  warp.requests.stop(lane, warp.live, now.launch->traffic);
  if (warp.requests.is_ahead(lane)) {  // the others have not come so far
    wait_for_others();
    warp.requests.go_on(1u << lane);
  }
}

void stop_launch(int error) {
  now.busy = false;
  now.launch->failed = true;
  errors().set_sticky(error);
  for (;;) wait_for_others();
}

Scheduler::Seat& Scheduler::free_seat(std::size_t threads) {
  if (free_.empty()) {
    const std::size_t first = seats_.empty() ? 0 : seats_.back()->first_stack + threads;
    seats_.push_back(std::make_unique<Seat>());
    seats_.back()->first_stack = first;
    free_.push_back(seats_.back().get());
  }
  Seat& seat = *free_.back();
  free_.pop_back();
  return seat;
}

void Scheduler::begin(Seat& seat, Launch& launch, std::uint64_t number) {
  Block& block = seat.block;
  const unsigned count = static_cast<unsigned>(volume(launch.shape.block));
  block.number = number;
  block.index = unflatten(number, launch.shape.grid);
  block.threads.resize(count);
  block.warps.resize((count + 31) / 32);
  block.live = count;
  block.at_barrier = block.barrier_true = 0;
  block.told_early_return = false;
  for (unsigned w = 0; w < block.warps.size(); ++w) {
    block.warps[w].live = low_lanes(count - w * 32);
    block.warps[w].waiting = block.warps[w].asking = 0;
    block.warps[w].requests.begin(static_cast<int>(w));
  }
  for (unsigned i = 0; i < count; ++i) {
    Thread& thread = block.threads[i];
    thread.stack = stacks_.get(seat.first_stack + i);
    thread.fiber.prepare(thread.stack, thread_body, nullptr);
    thread.index = unflatten(i, launch.shape.block);
    thread.number = static_cast<std::uint16_t>(i);
    thread.lane = i % 32;
    thread.state = ThreadState::ready;
    thread.warp_epoch = thread.fenced_interval = 0;
    thread.spin = {};
    thread.gave_way = false;
    thread.last_site = thread.wait_site = 0;
  }
  begin_block_ordering(block);
  shared_memory().begin_block(block.shared);
}

void Scheduler::resume(Thread& thread, Block& block) {
  now.thread = &thread;
  now.block = &block;
  current_thread_writable.thread = thread.index;
  thread.gave_way = false;
  thread.fiber.resume();
  now.thread = nullptr;
}

Scheduler::Outcome Scheduler::run_block(Block& block) {
  now.block = &block;
  current_thread_writable.block = block.index;
  bool any_progress = false;
  while (block.live > 0) {
    bool any_ready = false;
    bool progress = false;
    for (Thread& thread : block.threads) {
      if (thread.state != ThreadState::ready) continue;
      any_ready = true;
      resume(thread, block);
      if (now.launch->failed) return Outcome::failed;
      progress = progress || !thread.gave_way;
    }
    if (!any_ready) {
      report_deadlock(block);
      return Outcome::failed;
    }
    if (!progress) return any_progress ? Outcome::stalled : Outcome::idle;
    any_progress = true;
  }
  report_uninitialised_reads(block);
  return Outcome::finished;
}

void Scheduler::run(Launch& launch) {
  const std::uint64_t blocks = volume(launch.shape.grid);
  const std::size_t threads = volume(launch.shape.block);
  const std::size_t most_seats = StackPool::kMaxStacks / threads;
  seats_.clear();
  free_.clear();
  waiting_.clear();
  current_thread_writable.block_size = launch.shape.block;
  current_thread_writable.grid_size = launch.shape.grid;

  std::uint64_t next = 0;
  std::size_t idle_turns = 0;  // in a row
  while (next < blocks || !waiting_.empty()) {
    const bool start_new =
        next < blocks && (waiting_.empty() || (idle_turns > 0 && waiting_.size() < most_seats));
    Seat* seat = nullptr;
    if (start_new) {
      seat = &free_seat(threads);
      begin(*seat, launch, next++);
    } else {
      seat = waiting_.front();
      waiting_.pop_front();
      shared_memory().restore(seat->block.shared);
    }
    const Outcome outcome = run_block(seat->block);
    if (outcome == Outcome::failed) return;
    idle_turns = outcome == Outcome::idle ? idle_turns + 1 : 0;
    if (outcome == Outcome::finished) {
      free_.push_back(seat);
      continue;
    }
    shared_memory().park(seat->block.shared);
    waiting_.push_back(seat);
    if (idle_turns > kIdleTurns * waiting_.size() &&
        (next == blocks || waiting_.size() == most_seats)) {
      report_blocks_waiting(seat->block, blocks - next);
      return;
    }
  }
}

}  // namespace simulator
