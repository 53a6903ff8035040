// Rows that lie among a great many others: of so many that an int cannot count them.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "verdict/contract/call.h"
#include "verdict/session/explain_finding.h"
#include "verdict/session/session.h"

namespace onepass::verdict {
namespace {

// What the blocks of a loop over the rows have done at least, of their share. And what four blocks
// of a sample have done together if only one of them is there to write: who has done less does not
// have blocks for all rows.
constexpr double kWholeShare = 0.75, kCutShare = 0.25;

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

/// In a sample nothing can be said of an element that is not written, or that other blocks have a
/// share in: near or far.
void Session::expect_far(const Case& few, const Case& far, const Case& below, const Case& near,
                         const Outputs& outputs) {
  if (!can_hold(far)) {
    return;
  }
  const FarRows at_far = try_far(few, far, outputs);
  if (!at_far.is_wrong()) {
    return;
  }
  // To whom a call far away does not come to its end, one that does is well enough: its blocks may
  // be others than those of the rows that have numbers.
  const auto goes_well = [&](const FarRows& tried) {
    return tried.right == true || (at_far.failure && tried.right.has_value());
  };
  const FarRows at_near = try_far(few, near, outputs);
  const bool right_near = goes_well(at_near);
  // The number of blocks has lost its upper bits. (That no rows seem right near may be for blocks
  // too many, of which the last one has nothing to do.)
  const bool fewer =
      !at_far.failure && !right_near && at_far.sampled.blocks < at_near.sampled.blocks;
  const bool cut = !at_far.failure && at_far.is_cut();
  // So many blocks that they do not grow with the rows any more, each with its share of all rows:
  // the last row may be one's that the sample lacks.
  const bool goes_on =
      !at_far.failure && !fewer && at_far.is_whole() && at_far.share > 1.1 * at_near.share;
  if (!at_far.failure && !fewer && !cut && (goes_on || !right_near)) {
    return;
  }
  Failure failure = at_far.failure.value_or(
      Failure{.message = "Results are missing or wrong that are right among fewer rows."});
  if (fewer) {
    failure.message = fmt::format("There are {} blocks, fewer than the {} for fewer rows.",
                                  at_far.sampled.blocks, at_near.sampled.blocks);
  }
  bool lost_bits = fewer, divided = false;
  if (!fewer && right_near) {
    const FarRows at_below = try_far(few, below, outputs);
    // A grid that stops growing has more blocks than for fewer rows, one that has lost bits may
    // not.
    divided = !at_far.failure && at_far.sampled.launches > at_below.sampled.launches;
    lost_bits = goes_well(at_below) && !divided &&
                !(cut && at_far.sampled.blocks >= at_below.sampled.blocks) &&
                !is_out_of_memory(failure.message);
  }
  if (lost_bits) {
    failure = with_reason(failure, "index-overflow", kOverflowAdvice);
  } else if (cut) {
    failure = {.message = fmt::format("The grid has {} blocks, and what they write is not enough "
                                      "for all rows: most are nobody's. Launch more blocks, or let "
                                      "each go on in a loop.",
                                      at_far.sampled.blocks),
               .mistake = "output-partly-written"};
  } else if (divided) {
    failure.message += fmt::format(
        " There are {} launches of its kernel, and {} among fewer rows: where each has some of the "
        "rows, it must begin with its own in every tensor, in those of one number a row too.",
        at_far.sampled.launches, at_near.sampled.launches);
  } else if (!at_far.failure && !fewer && at_far.sampled.kernels.size() > 1) {
    // A second kernel may read what blocks of the first would have written that are not in the
    // sample.
    return;
  }
  fail(far, failure);
}

}  // namespace onepass::verdict
