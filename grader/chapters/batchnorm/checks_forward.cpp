// The checks of exercise 4.1. Those of TODO 1 look at save_mean only, those of TODO 2 at save_rstd,
// those of TODO 3 at the running statistics, those of TODO 4 at y. What they do is in
// checks_of_forward.h.
#include "chapters/batchnorm/checks_of_forward.h"

namespace onepass::batchnorm::forward_checks {
namespace {

const ForwardChecks checks(kForward);

TEST_SUITE("batchnorm/forward") {
  // ---- TODO 1: the mean ----

  CHECK_CASE("2-D input: the mean of a channel goes over all samples", points(1), todo(1)) {
    checks.two_dimensional(kMean, Dtype::fp32);
  }

  CHECK_CASE("3-D and 4-D input: over all positions too", points(2), todo(1)) {
    checks.three_and_four_dimensional(kMean);
  }

  CHECK_CASE("one large number in a channel of small ones counts wherever it is", points(1),
             todo(1)) {
    checks.one_large_number(kMean);
  }

  CHECK_CASE("fp16 and bf16 are added up in fp32", points(1), todo(1)) {
    checks.mean_is_added_up_in_fp32();
  }

  CHECK_CASE("the mean of an x that starts at any address", points(1), todo(1)) {
    checks.arrangements(kMean, {"x", "save_mean"});
  }

  // ---- TODO 2: rstd ----

  CHECK_CASE("rstd is 1 / sqrt(var + eps), the variance divided by the count", points(3), todo(2)) {
    checks.two_dimensional(kRstd, Dtype::fp16);
    checks.three_and_four_dimensional(kRstd);
  }

  CHECK_CASE("large means: the variance does not drown in the mean", points(2), todo(2)) {
    checks.large_means();
    checks.landmarks_unlike_others(kRstd);
  }

  CHECK_CASE("eps is added to the variance, inside the root, as it is given", points(1), todo(2)) {
    checks.eps_is_added_as_given();
    checks.eps_in_large_channels();
  }

  CHECK_CASE("one large number in a channel of small ones: its square counts", points(1), todo(2)) {
    checks.one_large_number(kRstd);
  }

  // ---- TODO 3: running statistics ----

  CHECK_CASE("running_mean and running_var move by momentum; the variance is divided by count - 1",
             points(3), todo(3)) {
    checks.running_statistics_move();
  }

  CHECK_CASE("momentum 0 keeps the running statistics, momentum 1 replaces them", points(1),
             todo(3)) {
    checks.momentum_0_and_1();
    checks.running_variance_beside_eps({{3, 2, 11}, {2, 1, 40000}});
  }

  // ---- TODO 4: y ----

  CHECK_CASE("2-D input: y is (x - mean) * rstd * weight + bias", points(2), todo(4)) {
    checks.two_dimensional(kY, Dtype::bf16);
  }

  CHECK_CASE("3-D and 4-D input: each element of y is written where x has it", points(2), todo(4)) {
    checks.three_and_four_dimensional(kY);
    checks.far(kSavedAndY);
    checks.far_channels(kSavedAndY);
  }

  CHECK_CASE("fp16 and bf16: y is rounded once, at the very end", points(1), todo(4)) {
    checks.y_is_rounded_once();
  }

  CHECK_CASE("x, y, weight and bias may start at any address", points(1), todo(4)) {
    checks.arrangements(kY, {"x", "weight", "bias", "y"});
    checks.vectors_at_any_address();
  }

  CHECK_CASE("a channel of equal numbers has variance 0, and y is its bias", points(1), todo(4)) {
    checks.equal_numbers();
  }

  CHECK_CASE("an empty tensor: nothing is written", points(1), todo(4)) {
    checks.empty_tensor();
  }

  CHECK_CASE("called again, on other numbers or the same, it is right again", points(1), todo(4)) {
    checks.called_again();
    checks.calls_of_every_size();
  }

  CHECK_CASE("shapes drawn at random, and numbers at the ends of the types, infinite and NaN",
             points(1), todo(4)) {
    checks.random_shapes_and_values();
  }
}

}  // namespace
}  // namespace onepass::batchnorm::forward_checks
