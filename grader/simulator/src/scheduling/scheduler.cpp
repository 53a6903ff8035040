#include "scheduling/scheduler.h"

#include <algorithm>

#include "findings/texts.h"
#include "occupancy.h"
#include "scheduling/landing.h"
#include "scheduling/waiting.h"

namespace simulator {
namespace {

/// How many turns each block of a full house gets in which nobody makes progress.
constexpr unsigned kIdleTurns = 16;

/// Blocks that are under way together in the shuffled order.
constexpr std::size_t kTogether = 8;

/// What a thread does: the kernel, then its farewell. Then it waits until it is one of the next
/// block's.
void thread_body(void* argument) {
  Launch& launch = *static_cast<Launch*>(argument);
  for (;;) {
    launch.body(launch.arguments);
    Thread& thread = *launch.thread;
    Block& block = *launch.block;
    if (launch.inside == 0) launch.inside = thread.last_site;
    end_copies_of_thread(launch);
    launch.last_thread = &thread;
    thread.state = ThreadState::returned;
    --block.live;
    block.warp_of(thread).live &= ~(1u << thread.lane);
    launch.checkers.tell(ThreadReturn{thread.number});
    warp_lane_stopped(launch, thread);
    barrier_thread_returned(launch);
    cluster_thread_returned(launch, thread);
    wait_for_others(launch);
  }
}

}  // namespace

Launch* running_launch = nullptr;
__thread uint3 running_thread;
__thread uint3 running_block;
__thread uint3 running_block_size;
__thread uint3 running_grid_size;

void let_warp_catch_up(Launch& launch) {
  const Thread& thread = *launch.thread;
  launch.checkers.tell(CatchUp{thread.number});
  if (launch.checkers.is_ahead(thread.number)) {  // the others have not come so far
    wait_for_others(launch);
    launch.checkers.tell(LanesGoOn{thread.number / 32u, 1u << thread.lane});
  }
}

void stop_launch(Launch& launch, ErrorCode error) {
  launch.machine.findings.abandon_writing();
  launch.fail(error);
  for (;;) wait_for_others(launch);
}

Block& Scheduler::free_seat() {
  if (free_.empty()) {
    seats_.push_back(std::make_unique<Block>());
    seats_.back()->seat = static_cast<unsigned>(seats_.size() - 1);
    free_.push_back(seats_.back().get());
  }
  Block& block = *free_.back();
  free_.pop_back();
  return block;
}

void Scheduler::begin(Block& block, std::uint64_t number) {
  const unsigned count = static_cast<unsigned>(volume(launch_.begin.block));
  const bool is_new = block.threads.empty();
  block.number = number;
  block.index = unflatten(number, launch_.begin.grid);
  block.threads.resize(count);
  block.warps.resize((count + 31) / 32);
  block.live = count;
  stacks_.give_to(block);
  block.at_barrier = block.barrier_true = block.at_grid_barrier = 0;
  block.copies.clear();
  block.bulk_copies.clear();
  block.split_barriers.clear();
  for (unsigned w = 0; w < block.warps.size(); ++w) {
    block.warps[w].live = low_lanes(count - w * 32);
    block.warps[w].waiting = block.warps[w].asking = 0;
  }
  for (unsigned i = 0; i < count; ++i) {
    Thread& thread = block.threads[i];
    if (is_new) {
      thread.stack = stacks_.stack(block, i);
      thread.fiber.prepare(thread.stack, thread_body, &launch_);
      thread.index = unflatten(i, launch_.begin.block);
      thread.number = static_cast<std::uint16_t>(i);
      thread.lane = i % 32;
    }
    thread.state = ThreadState::ready;
    thread.spin = {};
    thread.gave_way = thread.has_updated = thread.let_others_swap = thread.is_woken = false;
    thread.last_site = thread.wait_site = 0;
    thread.path = 0;
    thread.cluster_arrivals = thread.cluster_waits = 0;
  }
  if (block.cluster == nullptr) {
    launch_.checkers.tell(BlockBegin{number, block.seat, count});
  } else {
    const std::vector<Block*>& blocks = block.cluster->blocks;
    launch_.checkers.tell(BlockBegin{number, block.seat, count, blocks.front()->seat,
                                     block.cluster_rank, static_cast<unsigned>(blocks.size())});
  }
  launch_.count_threads(count);
  launch_.machine.memory.shared.begin_block();
}

void Scheduler::end(Block& block) {
  if (block.cluster == nullptr) {
    free_.push_back(&block);
  } else {
    end_in_cluster(block);
  }
}

void Scheduler::set_aside(Block& block) {
  SharedMemory& shared = launch_.machine.memory.shared;
  if (block.cluster == nullptr) {
    shared.park(block.parked);
  } else {
    shared.put_in_window(block.seat);
  }
}

void Scheduler::go_on(Block& block) {
  stacks_.give_to(block);
  if (block.cluster == nullptr) {
    launch_.machine.memory.shared.restore(block.parked);
  } else {
    launch_.machine.memory.shared.take_from_window(block.seat);
  }
  launch_.checkers.tell(BlockResume{block.seat});
  if (block.cluster != nullptr) tell_woken(block);
}

Scheduler::Outcome Scheduler::run_block(Block& block) {
  launch_.block = &block;
  running_block = block.index;
  bool any_progress = false;
  while (block.live > 0) {
    launch_.progress = launch_.met_others = false;
    if (!pass_turn(launch_, launch_.scheduler, 0)) {
      if (GridBarrier::is_at(block)) return Outcome::at_grid;
      if (block.cluster != nullptr && waits_for_cluster(block)) return Outcome::asleep;
      launch_.checkers.tell(BlockStuck{});
      launch_.fail(kErrorLaunchTimeout);
    }
    if (launch_.failed) return Outcome::failed;
    if (!launch_.progress) return any_progress ? Outcome::stalled : Outcome::idle;
    any_progress = true;
    if (launch_.is_shuffled && launch_.met_others && block.live > 0) return Outcome::aside;
  }
  tell_copies_at_barriers(launch_);
  launch_.checkers.tell(BlockEnd{launch_.last_thread->number, launch_.last_thread->last_site});
  return Outcome::finished;
}

/// The block waits for another one, and so do all others.
void Scheduler::give_up(const Block& block, std::uint64_t unstarted, std::size_t at_grid) {
  for (const Thread& thread : block.threads) {
    if (thread.state != ThreadState::ready) continue;
    launch_.checkers.tell(AllBlocksWait{thread.number, thread.last_site, unstarted, at_grid});
    break;
  }
  launch_.fail(kErrorLaunchTimeout);
}

/// The blocks that the device holds at one time, by what is known of the kernel so far.
std::size_t Scheduler::most_seats() const {
  const SharedMemory& shared = launch_.machine.memory.shared;
  const int fit = blocks_at_once(0, volume(launch_.begin.block),
                                 shared.dynamic_size() + shared.static_bytes_used(),
                                 *launch_.machine.generation);
  const std::size_t told =
      launch_.machine.attributes.occupancy_told(kernel_names(launch_.begin.launched()));
  return static_cast<std::size_t>(launch_.machine.multiprocessors) *
         std::max({std::size_t{1}, static_cast<std::size_t>(fit), told});
}

std::uint64_t Scheduler::run(std::uint64_t first, Share share) {
  // What begins together: a block, or a cluster.
  const bool in_clusters = launch_.begin.has_clusters();
  const std::uint64_t together = volume(launch_.begin.cluster);
  const ChosenBlocks chosen(launch_.machine.blocks,
                            clusters_of(launch_.begin.grid, launch_.begin.cluster),
                            launch_.begin.block, launch_.begin.is_cooperative);
  const std::uint64_t count = chosen.count();
  const std::uint64_t end_of_share = share == Share::half ? count / 2 : count;
  running_block_size = launch_.begin.block;
  running_grid_size = launch_.begin.grid;
  if (in_clusters) launch_.machine.memory.shared.windows().open();

  GridBarrier grid(count * together);
  std::uint64_t next = first;
  std::size_t idle_turns = 0;  // in a row
  bool is_aside = false;       // the block that ran last
  while (next < end_of_share || !waiting_.empty() || !asleep_.empty() ||
         (grid.waiting() > 0 && next < count)) {
    if (waiting_.empty() && !asleep_.empty() && !land_stores()) {
      break;  // only their clusters could wake them
    }
    const bool start_new =
        next < count && (waiting_.empty() || (idle_turns > 0 && under_way() < most_seats()) ||
                         (is_aside && waiting_.size() < kTogether));
    Block* block = nullptr;
    if (start_new && !in_clusters) {
      block = &free_seat();
      begin(*block, chosen.number(next++));
    } else {
      if (start_new) begin_cluster(chosen.number(next++));
      block = waiting_.front();
      waiting_.pop_front();
      go_on(*block);
    }
    const Outcome outcome = run_block(*block);
    if (outcome == Outcome::failed) return count;
    if (block->cluster != nullptr) wake(*block->cluster);
    idle_turns = outcome == Outcome::idle ? idle_turns + 1 : 0;
    is_aside = outcome == Outcome::aside;
    if (outcome == Outcome::finished) {
      grid.note_end(*block);
      end(*block);
      continue;
    }
    if (outcome == Outcome::at_grid && !grid.arrive(launch_, *block)) return count;
    set_aside(*block);
    if (outcome == Outcome::at_grid) {
      for (Block* released : grid.release(launch_)) waiting_.push_back(released);
      continue;
    }
    if (outcome == Outcome::asleep) {
      block->is_asleep = true;
      asleep_.push_back(block);
      continue;
    }
    waiting_.push_back(block);
    if (idle_turns > kIdleTurns * waiting_.size() &&
        (next == count || under_way() >= most_seats())) {
      idle_turns = 0;
      if (land_stores()) continue;
      // Of a sample, they may wait for a block that is not among them.
      if (!chosen.is_sample()) give_up(*block, (count - next) * together, grid.waiting());
      return count;
    }
  }
  if (!asleep_.empty()) {
    tell_cluster_missed();
  } else if (grid.waiting() > 0) {
    go_on(grid.first());
    launch_.block = &grid.first();
    grid.tell_missed(launch_);
  }
  return next;
}

}  // namespace simulator
