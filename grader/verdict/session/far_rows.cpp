// Rows that lie among a great many others: so many that an int cannot count the elements.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "verdict/contract/call.h"
#include "verdict/session/explain_finding.h"
#include "verdict/session/session.h"

namespace onepass::verdict {
namespace {

/// A GPU's own copy of rows so far apart may wait for its stream, and those nearer do not.
constexpr const char* kHostWaits = "host-waits";

// What the blocks of a loop over the rows have done at least, of their share. And what four blocks
// of a sample have done together if only one of them is there to write: who has done less does not
// have blocks for all rows.
constexpr double kWholeShare = 0.75, kCutShare = 0.25;

// So many times the rows of a sample are rows that there may be.
constexpr std::int64_t kMostThreadsOfGrid = std::int64_t{1} << 28;

constexpr double kMostBlocksOfGrid = 2147483647.0;  // in x

const char* const kFloatAdvice =
    "Among fewer rows it goes well, and it goes wrong already where an int could count every byte "
    "and every thread. A float has 24 bits: compute indices and numbers of blocks in integers.";

/// Are the bytes of each buffer, and the threads, however many a block has, no more than an int can
/// count?
bool is_within_int(const Case& call, std::int64_t blocks) {
  constexpr std::int64_t kEndOfInt = std::int64_t{1} << 31;
  return blocks < kEndOfInt / kMostThreads &&
         std::all_of(call.buffers().begin(), call.buffers().end(), [&](const Buffer& buffer) {
           const std::int64_t elements = (buffer.rows - 1) * buffer.stride() + buffer.cols;
           return elements < kEndOfInt / static_cast<std::int64_t>(size_of(buffer.dtype));
         });
}

/// That of the two calls which differs.
std::string spread_size(const Case& few, const Case& call) {
  std::string name;
  for (const auto& [size, number] : contract::sizes_of(call)) {
    name = number != few.integer(size) ? size : name;
  }
  return name;
}

/// Has each tensor with rows of that size one for each, and not several, as the planes of a batch?
/// Only then do rows apart lie where those of their number do.
bool has_one_row_each(const Case& few, const std::string& size) {
  return std::all_of(few.buffers().begin(), few.buffers().end(), [&](const Buffer& buffer) {
    const std::vector<std::string>& factors = contract::tensor_of(few, buffer.name)->rows.factors;
    return std::find(factors.begin(), factors.end(), size) == factors.end() ||
           buffer.rows == few.integer(size);
  });
}

/// Bytes from the first row of the outputs to the last. few: the same call, with few rows.
double span_of(const Case& call, const Outputs& outputs, const Case& few) {
  double bytes = 0.0;
  for (const auto& expected : outputs) {
    const Buffer& buffer = call.buffer(expected(few).output);
    const std::int64_t elements = (buffer.rows - 1) * buffer.stride() + buffer.cols;
    bytes += static_cast<double>(elements) * static_cast<double>(size_of(buffer.dtype));
  }
  return bytes;
}

}  // namespace

/// One of the calls, and what came of it.
struct Session::FarRows {
  std::optional<bool> right;       // nothing where it takes too long
  std::optional<Failure> failure;  // what a block did wrong, which ended the call
  Sampled sampled;
  double share = 0.0;  // bytes, a block, if all rows are to be written

  /// Are there too few blocks, and do they not go on in a loop?
  bool is_cut() const { return sampled.written > 0.0 && sampled.written < kCutShare * share; }
  bool is_whole() const { return sampled.written > kWholeShare * share; }
  bool is_wrong() const { return failure || right == false; }
};

Session::FarRows Session::try_far(const Case& few, const Case& call, const Outputs& outputs) {
  FarRows tried;
  check_.sampled = {};
  try {
    bool right = true;
    const bool ended = in_time([&] {
      const Turn turn = {next_turn().poison};
      if (settings_.device == "cpu") {
        right = is_right_in_sample(call, turn, outputs, &few);
      } else {
        compare(few, complete(call, turn, kNobodyAsked).answer, outputs);
      }
    });
    tried.right = ended ? std::optional(right) : std::nullopt;
  } catch (const CheckFailed&) {
    tried.failure = std::exchange(check_.failure, std::nullopt);
  }
  tried.sampled = check_.sampled;
  tried.share = span_of(call, outputs, few) / static_cast<double>(tried.sampled.blocks);
  if (tried.right == true && tried.is_cut()) {
    tried.right = false;
  }
  return tried;
}

/// Rows as far apart as the grid has threads: if there are no more of these however many rows, the
/// blocks of the first row come to the others in later turns of a loop.
void Session::expect_later_turns(const Case& few,
                                 const std::function<Case(std::int64_t apart)>& spread,
                                 const FarRows& at_near, const Outputs& outputs) {
  const Sampled& near = at_near.sampled;
  if (settings_.device != "cpu" || near.kernels.size() != 1 || near.threads > kMostThreadsOfGrid) {
    return;
  }
  const Case call = spread(near.threads);
  if (!has_one_row_each(few, spread_size(few, call))) {
    return;
  }
  const FarRows tried = try_far(few, call, outputs);
  if (tried.sampled.blocks == near.blocks && !tried.failure && tried.sampled.first_right &&
      !tried.sampled.later_right && try_far(few, few, outputs).right == true) {
    fail(
        call,
        {.message = fmt::format(
             "Of the {} the first is right, and those that are {} and more behind it are wrong, to "
             "which its block comes in later turns of a loop. What belongs to a row or an element, "
             "such as its sums, weight, channel or angle, begins or is found anew in each turn.",
             spread_size(few, call), near.threads),
         .mistake = "first-turn-only"});
  }
}

/// In a sample nothing can be said of an element that is not written, or that other blocks have a
/// share in: near or far.
void Session::expect_far(const Case& few, const std::function<Case(std::int64_t apart)>& spread,
                         const Apart& apart, const Outputs& outputs,
                         const std::optional<Diagnosis>& lost_bits) {
  const Case far = spread(apart.far);
  if (!can_hold(far)) {
    return;
  }
  const FarRows at_far = try_far(few, far, outputs);
  const auto try_near = [&] { return try_far(few, spread(apart.near), outputs); };
  if (!at_far.is_wrong()) {
    if (!at_far.right) {
      expect_later_turns(few, spread, try_near(), outputs);
    }
    return;
  }
  // To whom a call far away does not come to its end, one that does is well enough: its blocks may
  // be others than those of the rows that have numbers.
  const auto goes_well = [&](const FarRows& tried) {
    return tried.right == true || (at_far.failure && tried.right.has_value());
  };
  const FarRows at_near = try_near();
  const bool right_near = goes_well(at_near);
  // The number of blocks has lost its upper bits. (That no rows seem right near may be for blocks
  // too many, of which the last one has nothing to do.)
  const bool fewer =
      !at_far.failure && !right_near && at_far.sampled.blocks < at_near.sampled.blocks;
  const bool cut = !at_far.failure && at_far.is_cut();
  // So many blocks that they do not grow with the rows any more, each with its share of all rows:
  // the last row may be one's that the sample lacks.
  const auto go_on = [&](const FarRows& tried) {
    return !tried.failure && tried.is_whole() && tried.share > 1.1 * at_near.share;
  };
  if (!at_far.failure && !fewer && !cut && (go_on(at_far) || !right_near)) {
    expect_later_turns(few, spread, at_near, outputs);
    return;
  }
  Failure failure = at_far.failure.value_or(
      Failure{.message = "Results are missing or wrong that are right among fewer rows."});
  if (fewer) {
    failure.message = fmt::format("There are {} blocks, fewer than the {} for fewer rows.",
                                  at_far.sampled.blocks, at_near.sampled.blocks);
  }
  bool is_overflow = fewer, in_float = false;
  if (!fewer && right_near) {
    const Case below = spread(apart.below);
    const FarRows at_below = try_far(few, below, outputs);
    // Each of several launches has some of the rows: an index of one may be wrong in the others.
    const bool divided = !at_far.failure && at_far.sampled.launches > at_near.sampled.launches;
    in_float = !cut && !divided && at_near.right == true && at_below.right == false &&
               !at_below.is_cut() && !go_on(at_below) &&
               (at_far.failure || at_far.sampled.kernels.size() == 1) &&
               is_within_int(below, at_below.sampled.blocks);
    // A grid that stops growing has more blocks than for fewer rows, one that has lost bits may
    // not.
    is_overflow = !in_float && !divided && goes_well(at_below) &&
                  !(cut && at_far.sampled.blocks >= at_below.sampled.blocks) &&
                  !is_out_of_memory(failure.message) && failure.mistake != kHostWaits;
  }
  // A second kernel may read what blocks of the first would have written that are not in the
  // sample.
  if (!at_far.failure && !is_overflow && !cut && !in_float && at_far.sampled.kernels.size() > 1) {
    return;
  }
  const double wanted = static_cast<double>(at_near.sampled.blocks) *
                        static_cast<double>(apart.far) / static_cast<double>(apart.near);
  if (is_overflow && at_near.sampled.launches == 1 && wanted > kMostBlocksOfGrid) {
    failure.mistake = "grid-limit";
    failure.message = fmt::format(
        "With as many blocks per row as among fewer rows there would be {:.0f}, and a grid has "
        "2^31 - 1 at most. Give a block more to do, or use a grid-stride loop.",
        wanted);
  } else if (is_overflow) {
    failure = lost_bits ? with_reason(failure, lost_bits->mistake->c_str(), lost_bits->sentence)
                        : as_overflow(failure);
  } else if (in_float) {
    failure = with_reason(failure, "float-count", kFloatAdvice);
  } else if (cut) {
    failure = {.message = fmt::format("The grid has {} blocks, and what they write is not enough "
                                      "for all rows: most are nobody's. Launch more blocks, or let "
                                      "each go on in a loop.",
                                      at_far.sampled.blocks),
               .mistake = "output-partly-written"};
  }
  fail(far, failure);
}

}  // namespace onepass::verdict
