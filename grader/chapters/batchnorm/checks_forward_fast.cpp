// The checks of exercise 4.3. Of the results as those of 4.1 (checks_of_forward.h); and of the
// traffic that made them, on the simulator. Those of TODO 1 look at save_mean and save_rstd, those
// of TODO 2 at the running statistics, those of TODO 3 and 4 at y. Until TODO 5 channels have at
// most 8,192 elements, and 256 where space is 1.
#include <functional>
#include <utility>

#include "chapters/batchnorm/checks_of_forward.h"
#include "chapters/common/requests.h"
#include "chapters/common/speed.h"

namespace onepass::batchnorm::forward_fast_checks {
namespace {

const Names kSaved = {"save_mean", "save_rstd"};
const ForwardChecks checks(kForwardFast);

const Outputs kOfY = outputs_of(expected, kY);

Case counted(Dtype dtype, const Shape& shape, const Arrangement& arrangement = {}) {
  Arguments arguments = random_arguments(dtype, shape);
  arguments.arrangement = arrangement;
  return call_of(kForwardFast, std::move(arguments));
}

void count(Dtype dtype, const Shape& shape, common::Require require,
           const Arrangement& arrangement = {}) {
  common::count<forward_mistakes>(counted(dtype, shape, arrangement), kOfY, require);
}

void loaded_once(const Case& call, const verdict::Traffic& traffic) {
  require_loaded_once(call, traffic, "x");
}
void loaded_twice(const Case& call, const verdict::Traffic& traffic) {
  require_loaded_at_most(2, call, traffic, "x");
}
void in_packs(const Case& call, const verdict::Traffic& traffic) {
  require_packs(call, traffic, "x", verdict::AccessType::read);
  require_packs(call, traffic, "y", verdict::AccessType::write);
}
void by_many_blocks(const Case& call, const verdict::Traffic&) {
  require_blocks(8, call, "x");
}

std::int64_t pack_of(Dtype dtype) {
  return 16 / static_cast<std::int64_t>(verdict::size_of(dtype));
}

// Channels as large as a block holds, and larger: by a little, of an odd space, of one element less
// than a round number, and of round numbers; 2-D.
const std::vector<Shape> kLarge = {{2, 1, 8192},  {3, 2, 5504}, {5, 2, 4915},
                                   {1, 3, 24576}, {512, 3, 1},  {1030, 35, 1}};
// Too large for a cluster of blocks to keep, two channels side by side.
const Shape kTooLarge = {131200, 2, 1};

/// Stretches of each channel lie about means of their own.
Arguments uneven(Dtype dtype, const Shape& shape) {
  constexpr std::int64_t kStretch = 100;
  const verdict::Random draw = numbers("stretch", dtype, shape);
  Arguments arguments = random_arguments(dtype, shape);
  arguments.x = changed(arguments.x, [&](auto row, auto s, double value) {
    const std::int64_t j = row / shape.channels * shape.space + s;
    return value + 2.0 * draw.normal(static_cast<std::uint64_t>(j / kStretch));
  });
  return arguments;
}

TEST_SUITE("batchnorm/forward_fast") {
  // ---- TODO 1: mean and rstd ----

  CHECK_CASE("2-D input: mean and rstd of a channel go over all samples", points(2), todo(1)) {
    checks.two_dimensional(kSaved, Dtype::fp32);
  }

  CHECK_CASE("3-D and 4-D input: over all positions too", points(2), todo(1)) {
    checks.three_and_four_dimensional(kSaved);
  }

  CHECK_CASE("one large number in a channel of small ones counts wherever it is", points(1),
             todo(1)) {
    checks.one_large_number(kSaved);
  }

  CHECK_CASE("large means and long sums: mean and variance keep their digits", points(2), todo(1)) {
    checks.large_means();
    checks.mean_is_added_up_in_fp32();
  }

  CHECK_CASE("mean and rstd of an x that starts at any address", points(1), todo(1)) {
    checks.arrangements(kSaved, {"x", "save_mean", "save_rstd"});
    checks.eps_is_added_as_given();
  }

  // ---- TODO 2: running statistics ----

  CHECK_CASE("running_mean and running_var move by momentum; the variance is divided by count - 1",
             points(2), todo(2)) {
    checks.running_statistics_move();
  }

  CHECK_CASE("momentum 0 keeps the running statistics, momentum 1 replaces them", points(1),
             todo(2)) {
    checks.momentum_0_and_1();
    checks.running_variance_beside_eps({{3, 2, 11}, {50, 3, 1}});
  }

  // ---- TODO 3: y ----

  CHECK_CASE("2-D input: y is (x - mean) * rstd * weight + bias", points(1), todo(3)) {
    checks.two_dimensional(kY, Dtype::bf16);
  }

  CHECK_CASE("3-D and 4-D input: each element of y is written where x has it", points(2), todo(3)) {
    checks.three_and_four_dimensional(kY);
    checks.far_channels(kSavedAndY);
  }

  CHECK_CASE("fp16 and bf16: y is rounded once, at the very end", points(1), todo(3)) {
    checks.y_is_rounded_once();
    checks.equal_numbers();
  }

  CHECK_CASE("up to 8,192 elements a channel each element of x is loaded once", points(3),
             todo(3)) {
    for (Dtype dtype : kEveryDtype) {
      count(dtype, {2, 3, 49}, loaded_once);
      count(dtype, {3, 2, 1001}, loaded_once);
      count(dtype, {2, 1, 4096}, loaded_once);
      count_other_ways<forward_mistakes>(counted(dtype, {2, 2, 80}), true, kOfY, loaded_once);
    }
    count(Dtype::fp32, {1, 1, 8191}, loaded_once);
    for_ends_of_kernels(kForwardFast, {"space", 2, 8192},
                        [](Dtype dtype, std::int64_t batch, std::int64_t space) {
                          count(dtype, {batch, 2, space}, loaded_once);
                        });
  }

  CHECK_CASE("called again, on other numbers or the same, it is right again; an empty tensor",
             points(1), todo(3)) {
    checks.empty_tensor();
    checks.called_again();
  }

  // ---- TODO 4: 16 bytes ----

  CHECK_CASE("aligned channels: x is loaded and y is stored 16 bytes at a time", points(3),
             todo(4)) {
    for (Dtype dtype : kEveryDtype) {
      count(dtype, {3, 2, pack_of(dtype)}, in_packs);
      count(dtype, {2, 3, 5 * pack_of(dtype)}, in_packs);
      count(dtype, {1, 1, 8192}, in_packs);
      count_other_ways<forward_mistakes>(counted(dtype, {2, 2, 64}), false, kOfY, in_packs);
      // On a boundary of 16 bytes, and of no more; and x and y on different ones.
      count(dtype, {2, 2, 2 * pack_of(dtype)}, in_packs, just_aligned(kForwardFast, dtype));
      count(dtype, {2, 2, pack_of(dtype)}, in_packs,
            {{"x", {0, pack_of(dtype)}}, {"y", {0, 3 * pack_of(dtype)}}});
    }
    for_ends_of_vectors(kForwardFast, {"space", 1, 8192},
                        [](Dtype dtype, std::int64_t, std::int64_t space) {
                          count(dtype, {1, 2, space}, in_packs);
                        });
  }

  CHECK_CASE("x, y, weight and bias may start at any address", points(2), todo(4)) {
    checks.arrangements(kY, {"x", "weight", "bias", "y"});
    checks.vectors_at_any_address();
  }

  // ---- TODO 5: large channels ----

  CHECK_CASE("mean, rstd and the running statistics of large channels", points(3), todo(5)) {
    for (const Shape& shape : kLarge) {
      for (Dtype dtype : kEveryDtype) {
        checks.check(kAll, uneven(dtype, shape));
      }
    }
    checks.check(kAll, uneven(Dtype::bf16, kTooLarge));
    checks.check(kAll, uneven(Dtype::fp32, {1, 1, 65537}));
    checks.check(kSaved,
                 uneven(Dtype::fp32, {2, 1, 100'003}));  // products of counts are beyond int
    checks.check(kSaved, random_arguments(Dtype::fp32, {3, 1, 22003}, 1000.0));
    checks.landmarks_unlike_others(kSaved);
    checks.eps_in_large_channels();
    checks.running_variance_beside_eps({{3, 2, 5504}, {2, 1, 40000}, {1030, 3, 1}});
  }

  CHECK_CASE("large channels: x is loaded twice at most, 16 bytes at a time", points(2), todo(5)) {
    for (Dtype dtype : kEveryDtype) {
      count(dtype, {2, 1, 8200}, in_packs);
      count(dtype, {1, 1, 20001}, loaded_twice);
    }
    count(Dtype::fp16, {1200, 1, 1}, loaded_twice);
  }

  CHECK_CASE("a channel of 65,536 elements or more is shared by eight blocks at least", points(3),
             todo(5)) {
    count(Dtype::fp32, {1, 1, 65536}, by_many_blocks);
    count(Dtype::fp16, {2, 1, 32768 + 8}, by_many_blocks);
    count(Dtype::bf16, {65536, 1, 1}, by_many_blocks);
    count(Dtype::bf16, {32, 1, 56 * 56}, by_many_blocks);
    // Whoever cuts it into whole pieces may run out of them.
    count(Dtype::fp16, {1, 1, 65536 + 8 * session().random().integer(0, 1, 8192)}, by_many_blocks);
    constexpr std::int64_t kSpace = 65536;
    for (const std::int64_t channels : {96, 1200}) {  // alone more than enough blocks
      const verdict::contract::Sizes sizes = {
          {"batch", 1}, {"channels", channels}, {"space", kSpace}};
      require_shared_rows(8, verdict::contract::hollow(kForwardFast, Dtype::fp16, sizes, 1), "x",
                          kSpace);
    }
  }

  CHECK_CASE("sizes beyond what an int can number, and those past a grid's ends", points(1),
             todo(5)) {
    checks.far(kSavedAndY);
    checks.random_shapes_and_values();
  }

  CHECK_CASE(
      "sizes for which there are other kernels, without clusters too, one call after another",
      points(1), todo(5)) {
    checks.calls_of_every_size();
  }

  // ---- Speed ----

  SPEED_CHECKS(5, checks.check(kAll, random_arguments(Dtype::bf16, {8, 3, 64})))
}

}  // namespace
}  // namespace onepass::batchnorm::forward_fast_checks
