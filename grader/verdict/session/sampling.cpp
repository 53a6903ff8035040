// Calls of which a sample of blocks is enough.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "verdict/compare.h"
#include "verdict/contract/call.h"
#include "verdict/session/explain_race.h"
#include "verdict/session/judge.h"
#include "verdict/session/session.h"
#include "verdict/worker/worker_client.h"

namespace onepass::verdict {
namespace {

constexpr std::uint64_t kFewBlocks = 4;
// At one thread a column, all blocks run for one past 32,768 columns: the sums of their rows are
// whole then. What adds these up has more threads for each column, and more blocks.
constexpr std::uint64_t kBlocksOfWide = 257;

// Accesses of one launch, which take half a second or so; of one that has too much to do; and of
// all blocks. The time is limited only for what makes none: a verdict that hangs on it would depend
// on the computer.
constexpr std::uint64_t kFewAccesses = 12'000'000;
constexpr std::uint64_t kFarAccesses = 1'000'000;
constexpr std::uint64_t kAccessesInBounds = 100'000;
constexpr std::uint64_t kFullAccesses = 384'000'000;
constexpr double kFullLimit = 60.0;  // seconds
constexpr double kMorePatience = 2.5;

constexpr std::int64_t kMostHalf = std::int64_t{1} << 22;  // elements

// From how many blocks on a grid has them for the rows, not for the device.
constexpr std::int64_t kBlocksForRows = 4096;

/// Of the kernel with the most, in all its launches: the rows may be divided among several.
struct Blocks {
  std::int64_t all = 1, run = 1, launches = 1, threads = 1;
};
Blocks blocks_of(const Run& run, std::uint64_t most) {
  std::map<std::string, Blocks> kernels;
  for (const LaunchTraffic& launch : run.traffic) {
    const simulator::Dim3 grid = launch.grid, block = launch.block;
    const auto threads = std::uint64_t{block.x} * block.y * block.z;
    Blocks& blocks = kernels.try_emplace(launch.kernel, Blocks{0, 0, 0, 0}).first->second;
    blocks.all += std::int64_t{grid.x} * grid.y * grid.z;
    blocks.run += static_cast<std::int64_t>(
        simulator::blocks_of_sample(most, simulator::long_side(grid.x, grid.y, grid.z), threads));
    ++blocks.launches;
    blocks.threads += std::int64_t{grid.x} * grid.y * grid.z * static_cast<std::int64_t>(threads);
  }
  Blocks largest;
  for (const auto& [kernel, blocks] : kernels) {
    largest = blocks.all > largest.all ? blocks : largest;
  }
  return largest;
}

/// The inputs that a launcher may have copied to an output, to be changed there.
std::vector<const Buffer*> alike(const Case& call, const Buffer& output) {
  std::vector<const Buffer*> inputs;
  for (const Buffer& buffer : call.buffers()) {
    if (buffer.role == Role::input && !buffer.null && buffer.dtype == output.dtype &&
        buffer.rows == output.rows && buffer.cols == output.cols) {
      inputs.push_back(&buffer);
    }
  }
  return inputs;
}

/// Do the blocks of a sample go on in a loop, each by all blocks' rows at a time, to the end?
/// there: which rows they have written. A block has one row at a time, or one for each of its
/// warps, or those of a cluster have one together.
bool goes_round(const std::vector<bool>& there, const Blocks& blocks) {
  constexpr std::int64_t kMostOfCluster = 16, kMostWarps = 32;
  for (std::int64_t each = 1; each <= kMostOfCluster * kMostWarps; each *= 2) {
    const std::int64_t step = blocks.all * each / kMostOfCluster;
    if (2 * step > static_cast<std::int64_t>(there.size())) {
      return false;
    }
    if (step * kMostOfCluster == blocks.all * each &&
        std::count(there.begin(), there.begin() + step, true) * kMostOfCluster >=
            blocks.run * each &&
        std::equal(there.begin() + step, there.end(), there.begin())) {
      return true;
    }
  }
  return false;
}

/// How many numbers the blocks of a sample have written; 0 if some are wrong, or if they are not
/// their share. If the grid has a block for each few rows, the last row must be among them; of sums
/// down the columns the last one, and of what else wide rows give all. Where the last row is not,
/// as in a loop over the rows, as many blocks with as much must have had all of them.
std::int64_t right_ones(const Case& call, const Run& run, const Expectation& expected,
                        std::uint64_t sampled, Session::Sampled& seen) {
  const auto& [output, value, bound] = expected;
  const Matrix& got = run.answer[output];
  const Comparison comparison = compare(got, value, bound, run.answer.poison);
  const Buffer& buffer = call.buffer(output);
  const std::vector<const Buffer*> inputs = alike(call, buffer);
  // A fill before the launch leaves 0, to which other blocks would have added; a copy leaves what
  // they would have changed. (Where 0 is right, or what was there before, nothing is left to be
  // written.)
  const auto unwritten = [&](std::int64_t row, std::int64_t col) {
    return comparison.wrong_mask(row, col) != 0 &&
           (buffer.role == Role::in_place
                ? got.get(row, col) == buffer.before(row, col)
                : comparison.unwritten_mask(row, col) != 0 || got.get(row, col) == 0.0 ||
                      std::any_of(inputs.begin(), inputs.end(), [&](const Buffer* input) {
                        return got.get(row, col) == input->before(row, col);
                      }));
  };
  std::int64_t left = 0;
  std::vector<bool> there(static_cast<std::size_t>(got.rows()));
  for (std::int64_t row = 0; row < got.rows(); ++row) {
    for (std::int64_t col = 0; col < got.cols(); ++col) {
      const bool is_left = unwritten(row, col);
      const bool is_good = is_left || comparison.wrong_mask(row, col) == 0;
      left += is_left ? 1 : 0;
      if (col == 0) {
        there[static_cast<std::size_t>(row)] = !is_left;
      }
      (row == 0 ? seen.first_right : seen.later_right) &= is_good;
    }
  }
  const Blocks blocks = blocks_of(run, sampled);
  const contract::Tensor* tensor = contract::tensor_of(call, output);
  const bool is_sum = tensor != nullptr && tensor->rows == contract::Extent(1);
  const bool all_run = blocks.run == blocks.all || (sampled == kBlocksOfWide && !is_sum);
  // Of many blocks the last may have less to do than the others, in each launch.
  const std::int64_t share =
      all_run ? got.size() : got.size() / blocks.all * (blocks.run - blocks.launches);
  // The last block of a flat grid may have no more than the end of the last row.
  const bool last_left = unwritten(got.rows() - 1, 0) && unwritten(got.rows() - 1, got.cols() - 1);
  const std::int64_t written = got.size() - left;
  // (The first blocks of a loop may have a row more than the others.)
  const bool too_few = written * blocks.all < blocks.run * got.size();
  const bool lost =
      last_left && (too_few || blocks.all > kBlocksForRows) && !goes_round(there, blocks);
  const bool good = comparison.wrong == left && written >= share && !lost &&
                    !(is_sum && unwritten(0, got.cols() - 1));
  return good ? written : 0;
}

}  // namespace

Session::Sampling::Sampling(Session& session, Sample sample, bool in_full) : session_(session) {
  session_.sample_ = session_.device() == "cpu" ? sample : Sample::none;
  session_.in_full_ = in_full;
}

Session::Sampling::~Sampling() {
  session_.sample_ = Sample::none;
}

double Session::time_limit(const Turn& turn) const {
  if (turn.most_accesses > 0) {
    return turn.most_blocks == 0 ? kFullLimit : settings_.time_limit;
  }
  return has_ended_ ? kMorePatience * settings_.time_limit : settings_.time_limit;
}

/// `work`, unless it runs out of time, or of this computer's memory: of so many threads that says
/// nothing. Did it not? Threads of which it is known that they wait for each other are no matter of
/// time: theirs is a mistake.
bool Session::in_time(const std::function<void()>& work) {
  try {
    work();
    return true;
  } catch (const CheckFailed&) {
    const Failure& failure = *check_.failure;
    const bool too_long = failure.status == Status::timed_out && !failure.mistake;
    if ((!too_long && !failure.took_memory) || is_out_of_time()) {
      throw;
    }
  }
  check_.failure.reset();
  return false;
}

/// numbers: of which call, if it is another one.
bool Session::is_right_in_sample(const Case& call, Turn turn, const Outputs& outputs,
                                 const Case* numbers) {
  const std::uint64_t sampled = sample_ == Sample::of_wide ? kBlocksOfWide : kFewBlocks;
  turn.most_blocks = sampled;
  turn.most_accesses = sample_ == Sample::of_wide ? 0
                       : numbers != nullptr       ? kFarAccesses
                                                  : kFewAccesses;
  const Run run = complete(call, turn, numbers == nullptr ? goes_right(outputs) : kNobodyAsked);
  const Blocks blocks = blocks_of(run, sampled);
  check_.sampled = {
      .blocks = blocks.all, .threads = blocks.threads, .launches = blocks.launches, .kernels = {}};
  for (const LaunchTraffic& launch : run.traffic) {
    check_.sampled.written += static_cast<double>(launch.written_bytes);
    check_.sampled.kernels.insert(launch.kernel);
  }
  check_.sampled.written /= static_cast<double>(blocks.run);
  const bool all_right = std::all_of(outputs.begin(), outputs.end(), [&](const auto& expected) {
    const std::int64_t right =
        right_ones(numbers == nullptr ? call : *numbers, run,
                   expected(numbers == nullptr ? call : *numbers), sampled, check_.sampled);
    check_.compared += right;
    check_.wrote = check_.wrote || right > 0;
    return right > 0;
  });
  if (!all_right) {
    worker_->stop();  // what blocks that did not run would have cleared must not count later
  }
  return all_right;
}

Turn Session::turn_in_bounds() {
  Turn turn = {next_turn().poison};
  turn.most_blocks = kFewBlocks;
  turn.most_accesses = kAccessesInBounds;
  return turn;
}

void Session::expect_in_bounds(const Case& call) {
  if (device() != "cpu") {
    return;  // of which every block would run
  }
  in_time([&] { complete(call, turn_in_bounds(), kNobodyAsked); });
}

void Session::expect_error_left(const Case& call) {
  if (device() != "cpu") {
    return;
  }
  in_time([&] {
    Turn refused = turn_in_bounds();
    refused.no_launches = true;
    if (const std::optional<Failure> failure =
            judge_without_launches(attempt(call, refused, false))) {
      fail(call, *failure);
    }
  });
}

/// As many blocks for half as many rows, which write as much: the other rows are nobody's.
void Session::look_for_cut_grid(const Case& call, const Outputs& outputs) {
  const Sampled before = check_.sampled;
  contract::Sizes sizes = contract::sizes_of(call);
  std::string rows;
  for (const std::string& size : call.contract()->row_sizes()) {
    rows = sizes[size] > kBlocksForRows ? size : rows;
  }
  if (rows.empty() || before.blocks <= kBlocksForRows) {
    return;
  }
  sizes[rows] /= 2;
  const std::optional<Case> half = contract::resized(call, sizes, kMostHalf);
  if (half && in_time([&] { is_right_in_sample(*half, {next_turn().poison}, outputs); }) &&
      check_.sampled.blocks == before.blocks && check_.sampled.written == before.written) {
    fail(call, {.message = fmt::format("The grid has {} blocks for {} {}, as for half as many, and "
                                       "each writes no more than there: the other {} are nobody's. "
                                       "Launch more blocks, or let each go on in a loop.",
                                       before.blocks, call.integer(rows), rows, rows),
                .mistake = "output-partly-written"});
  }
}

/// What the blocks of a sample do wrong ends the check, whatever the others do. Not so the numbers,
/// in which other blocks may have a share: if they are not right, all blocks run.
void Session::expect_by_sample(const Case& call, const Outputs& outputs,
                               const std::vector<Oracle>& oracles) {
  const Poison poison = next_turn().poison;
  bool right = true;
  std::optional<Finding> warning;
  in_turn(call, {poison}, [&](const Turn& turn) {
    give_reasons(call, outputs, oracles,
                 [&] { in_time([&] { right = is_right_in_sample(call, turn, outputs); }); });
    warning = check_.doubt;
  });
  if (!right) {
    look_for_cut_grid(call, outputs);
  }
  const std::uint64_t most = in_full_ ? kFullAccesses : kFewAccesses;
  const Turn all = {poison, simulator::BlockOrder::rising, 0, 0, most};
  const auto look_at_all = [&] {
    give_reasons(call, outputs, oracles, [&] {
      compare(call, complete(call, all, goes_right(outputs)).answer, outputs, oracles);
    });
  };
  if (!right && !in_time(look_at_all) && in_full_) {
    // The numbers are not known, but rows that share a place cannot all be right.
    if (warning && warning->kind == Kind::global_race) {
      fail(call,
           {.message = sentence_on_warning(call, *warning), .location = location_of(*warning)});
    }
    check_.warnings.push_back(fmt::format(
        "Left out: the simulator takes too long for the call {}. Grade on a GPU to see it.",
        call.describe()));
  }
}

}  // namespace onepass::verdict
