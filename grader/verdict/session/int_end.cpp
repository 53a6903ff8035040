// Loops over so many rows or elements that their counters come to the end of what an int can count.
// On the simulator nobody can wait for all of it. But a part of a launch is a beginning that a GPU
// could make as well, whichever part: what that does wrong is wrong. And a counter that goes on by
// the size of the grid comes to its end sooner in one that is told to be larger.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "verdict/contract/call.h"
#include "verdict/session/explain_finding.h"
#include "verdict/session/judge.h"
#include "verdict/session/session.h"
#include "verdict/worker/worker_client.h"

namespace onepass::verdict {
namespace {

// Loops by the size of a grid have few turns in one of so many blocks: if each thread, each warp or
// each block takes a row. And as many accesses are in those.
constexpr std::uint64_t kToldBlocks[] = {1 << 18, 1 << 23};
constexpr std::uint64_t kStrideAccesses = 60'000'000;

// In so many a thread of 512 comes to the end of 2^31 elements, if it reads one tensor.
constexpr std::uint64_t kTurns = 4'500'000;

// Of the last block where it has nothing to do or little, and where it has its share.
constexpr std::uint64_t kEndAccesses = 1'000'000;
constexpr std::uint64_t kShareAccesses = 4'000'000;

// Blocks have rows in equal runs, or by turns. Of so few blocks the last one with a run is the last
// of all, also if runs are rounded up to 1,024 rows; and if there are whole rounds of turns more,
// the last row is still the same block's.
constexpr std::int64_t kMostGroups = 1024;
constexpr std::int64_t kRowsOfTurn = 4096;
constexpr std::int64_t kMostRows = 2147483647, kFewerRows = std::int64_t{1} << 25;

std::int64_t most_blocks(const Session::Launches& launches) {
  std::int64_t most = 0;
  for (const wire::Launch& launch : launches) {
    most = std::max(most, static_cast<std::int64_t>(launch.blocks));
  }
  return most;
}

/// Rows in which each launch has whole rounds of turns; of too many blocks, too many.
std::int64_t round_of_turns(const Session::Launches& launches) {
  std::int64_t blocks = 1;
  for (const wire::Launch& launch : launches) {
    const auto more = static_cast<std::int64_t>(launch.blocks);
    blocks = std::lcm(std::min(blocks, kMostGroups + 1), std::min(more, kMostGroups + 1));
  }
  return blocks * kRowsOfTurn;
}

/// The same kernels of as many blocks?
bool alike(const Session::Launches& some, const Session::Launches& others) {
  return std::equal(some.begin(), some.end(), others.begin(), others.end(),
                    [](const wire::Launch& a, const wire::Launch& b) {
                      return a.kernel == b.kernel && a.blocks == b.blocks &&
                             a.threads == b.threads && a.shared_bytes == b.shared_bytes &&
                             a.is_cooperative == b.is_cooperative;
                    });
}

/// The same call with what blocks that do not run would have written there: nothing but zeros.
Case with_scratch_of_zeros(const Case& call) {
  std::vector<Buffer> buffers = call.buffers();
  for (Buffer& buffer : buffers) {
    if (contract::is_scratch(call, buffer.name) && !buffer.null) {
      const contract::Tensor& scratch = *contract::tensor_of(call, buffer.name);
      buffer.role = Role::in_place;
      buffer.cols = std::max<std::int64_t>(1, scratch.traits.scratch(contract::sizes_of(call)));
      buffer.values = Matrix(buffer.dtype, buffer.rows, buffer.cols);
    }
  }
  return call.with(std::move(buffers));
}

}  // namespace

/// What came of one block of each launch, the one with which the order begins.
struct Session::OneBlock {
  std::optional<Answer> answer;    // if all came to their ends in time
  std::optional<Failure> failure;  // of a launch, or of what a block did

  std::optional<Comparison> compared(const Expectation& expected) const {
    return answer ? std::optional(verdict::compare((*answer)[expected.output], expected.value,
                                                   expected.bound, answer->poison))
                  : std::nullopt;
  }
  bool all_are_right(const std::vector<Expectation>& sums) const {
    return std::all_of(sums.begin(), sums.end(), [this](const Expectation& sum) {
      const std::optional<Comparison> got = compared(sum);
      return got && got->right();
    });
  }
  bool any_is_lost(const std::vector<Expectation>& sums) const {
    return std::any_of(sums.begin(), sums.end(), [this](const Expectation& sum) {
      const std::optional<Comparison> got = compared(sum);
      return got && !got->right() && got->got == 0.0;
    });
  }
};

Session::OneBlock Session::try_one_block(const Case& call, simulator::BlockOrder order,
                                         std::uint64_t most_accesses, std::uint64_t told_blocks) {
  Turn turn = {Poison::nan, order};
  turn.most_blocks = 1;
  turn.most_accesses = most_accesses;
  turn.bounds_only = true;
  turn.told_blocks = told_blocks;
  const Run run = attempt(call, turn, false);
  worker_->stop();  // what blocks that did not run would have cleared must not count later
  OneBlock tried;
  if (run.outcome == wire::Outcome::ok) {
    tried.answer = run.answer;
  }
  if (run.outcome == wire::Outcome::device_error || run.outcome == wire::Outcome::launch_error) {
    tried.failure = judge_ending(call, run, kNobodyAsked);
    if (tried.failure &&
        (tried.failure->status == Status::timed_out || is_out_of_memory(tried.failure->message))) {
      tried.failure.reset();
    }
  }
  return tried;
}

/// The counter of such a loop wraps in a larger grid as it does in the one that there is: in both
/// it goes on to the first number beyond the call's. If it does not count up to that number but
/// makes so many turns as the host has found, it goes too far with half as much, too.
void Session::expect_stride_in_bounds(const Case& call, const Case& half) {
  // Who launches single blocks for so much of it has no loop that goes on by the size of the grid.
  if (device() != "cpu" || most_blocks(launches_of(call, false)) == 1) {
    return;
  }
  for (const std::uint64_t blocks : kToldBlocks) {
    const auto try_told = [&](const Case& one) {
      return try_one_block(one, simulator::BlockOrder::rising, kStrideAccesses, blocks);
    };
    const OneBlock tried = try_told(call);
    if (tried.failure && tried.failure->status == Status::launch_error) {
      fail(call, *tried.failure);
    }
    if (tried.failure && try_told(half).answer) {
      fail(call,
           as_overflow(*tried.failure,
                       fmt::format("{} (gridDim told of {} blocks here, so that a loop by the "
                                   "size of the grid comes to its end in a few turns.)",
                                   kOverflowAdvice, blocks)));
    }
    if (tried.failure || tried.answer) {
      return;
    }
  }
}

/// What a block does before it waits for others it may do on a GPU, too. If it is misled by what
/// blocks of launches before did not write, so it is in the shorter call.
void Session::expect_walk_in_bounds(const Case& call, const Case& shorter) {
  if (device() != "cpu") {
    return;  // of which every block would run
  }
  const auto walk = [&](const Case& one) {
    const auto inputs =
        std::count_if(one.buffers().begin(), one.buffers().end(), [](const Buffer& buffer) {
          return buffer.role == Role::input && (buffer.rows - 1) * buffer.stride() > kFewerRows;
        });
    return try_one_block(one, simulator::BlockOrder::rising,
                         kTurns * static_cast<std::uint64_t>(inputs));
  };
  const OneBlock tried = walk(call);
  if (tried.failure && tried.failure->status == Status::device_error && !walk(shorter).failure) {
    fail(call, as_overflow(*tried.failure));
  }
}

/// The sums are what the last block has of them, if the others had nothing but zeros; where it has
/// the last row among fewer rows, of as many blocks, it has it here.
void Session::expect_last_row(const Case& few,
                              const std::function<Case(std::int64_t rows)>& with_rows,
                              const Outputs& sums) {
  if (device() != "cpu") {
    return;
  }
  const std::vector<Expectation> expected = expectations(sums, few);
  const auto call_of = [&](std::int64_t rows) { return with_scratch_of_zeros(with_rows(rows)); };
  const auto try_last = [&](const Case& call, std::uint64_t accesses) {
    return try_one_block(call, simulator::BlockOrder::falling, accesses);
  };
  const Case call = call_of(kMostRows);
  const OneBlock tried = try_last(call, kEndAccesses);
  if (!tried.failure && !tried.any_is_lost(expected)) {
    return;
  }
  const Failure failure = tried.failure.value_or(
      Failure{.message = "The last row is missing from the sums. With fewer rows it is there."});
  const Failure overflow = as_overflow(failure);
  const auto try_fewer = [&](std::int64_t rows) { return try_last(call_of(rows), kShareAccesses); };
  const std::int64_t blocks = most_blocks(launches_of(call_of(kFewerRows), false));
  if (failure.status == Status::launch_error && !try_fewer(kFewerRows).failure) {
    fail(call, blocks * (kMostRows / kFewerRows) < kMostRows ? overflow : failure);
  }
  const Launches launches = launches_of(call, false);
  const bool is_whole = most_blocks(launches) == 1;  // no other block could have had the row
  const std::int64_t round = round_of_turns(launches);
  const std::int64_t fewer = kMostRows % round + (kFewerRows / round + 1) * round;
  if ((is_whole || (round <= kMostGroups * kRowsOfTurn &&
                    alike(launches, launches_of(call_of(fewer), false)))) &&
      try_fewer(fewer).all_are_right(expected)) {
    fail(call, overflow);
  }
}

}  // namespace onepass::verdict
