// The checks of exercise 4.2. Those of TODO 1 have a single channel: until an element's channel is
// found, all are taken for channel 0.
#include <utility>

#include "chapters/batchnorm/mistakes.h"
#include "chapters/batchnorm/shapes.h"
#include "chapters/common/check.h"

namespace onepass::batchnorm::evaluate_checks {
namespace {

void check_y(Arguments arguments) {
  expect<evaluate_mistakes>(call_of(kEvaluate, std::move(arguments)), outputs_of(expected, {"y"}));
}

TEST_SUITE("batchnorm/evaluate") {
  CHECK_CASE("one channel: y is (x - running_mean) / sqrt(running_var + eps) * weight + bias",
             points(2), todo(1)) {
    for (Dtype dtype : kEveryDtype) {
      for (const Shape& shape :
           {Shape{1, 1, 1}, Shape{7, 1, 1}, Shape{2, 1, 33}, Shape{3, 1, 64}, Shape{2, 1, 520}}) {
        check_y(random_arguments(dtype, shape, 1.0, 2.0));
      }
    }
  }

  CHECK_CASE("eps is added to the variance, inside the root, as it is given", points(1), todo(1)) {
    for (float eps : {0.0f, 1e-5f, 1e-3f, 0.25f}) {
      for (Dtype dtype : kEveryDtype) {
        Arguments arguments = random_arguments(dtype, {4, 1, 90});
        arguments.eps = eps;
        arguments.running_var.set(0, 0, eps == 0.0f ? 0.01 : 0.5 * static_cast<double>(eps));
        check_y(arguments);
      }
    }
  }

  CHECK_CASE("fp16 and bf16: y is rounded once, at the very end", points(1), todo(1)) {
    for (Dtype dtype : kSixteenBit) {
      check_y(random_arguments(dtype, {3, 1, 100}, 5.0, 3.0));
      check_y(random_arguments(dtype, {2, 1, 128}, 0.0, 30.0));
    }
  }

  CHECK_CASE("2-D input: each element has the four numbers of its channel", points(2), todo(2)) {
    for (Dtype dtype : kEveryDtype) {
      for (const Shape& shape : kTwoDimensional) {
        check_y(random_arguments(dtype, shape));
      }
      check_y(random_arguments(dtype, kManyChannels));
    }
  }

  CHECK_CASE("3-D and 4-D input: a channel's positions are neighbours", points(2), todo(2)) {
    for (Dtype dtype : kEveryDtype) {
      for (const Shape& shape : kThreeDimensional) {
        check_y(random_arguments(dtype, shape));
      }
      for (const Shape& shape : kFourDimensional) {
        check_y(random_arguments(dtype, shape));
      }
      check_y(random_arguments(dtype, {8, 8, 8}));  // swapped indices stay inside of everything
    }
    sweep_large_sizes(kEvaluate, {{"batch"}, {"channels"}, {"space"}}, [](const Case& call) {
      expect<evaluate_mistakes>(call, outputs_of(expected, {"y"}));
    });
    check_far_channels(kEvaluate, outputs_of(expected, {"y"}));
    // A thread that goes on from its element by as many as there are threads comes to every
    // channel.
    const verdict::Session::Sampling sampled(session(), verdict::Session::Sample::of_many);
    check_y(random_arguments(Dtype::fp16, {2003, 7, 31}));
  }

  CHECK_CASE("x, y, weight and bias may start at any address", points(1), todo(2)) {
    sweep_tensors(kEvaluate, check_y);
    sweep_vectors(kEvaluate, check_y);
  }

  CHECK_CASE("an empty tensor: nothing is written", points(1), todo(2)) {
    check_y(random_arguments(Dtype::fp32, {2, 2, 3}));
    expect_nothing_done(kEvaluate);
  }

  CHECK_CASE("called again, on other numbers or the same, it is right again", points(1), todo(2)) {
    for (int repeat = 0; repeat < 4; ++repeat) {
      const common::Generation numbers((repeat + 1) / 2);
      check_y(random_arguments(Dtype::fp32, {4, 3, 50}));
      check_y(random_arguments(Dtype::bf16, {2 + repeat, 2, 24}));
    }
    check_side_by_side([](std::int64_t batch) {
      check_y(random_arguments(Dtype::fp32, {batch, 5, 30}));
    });
    check_every_size(kEvaluate, [](const Case& call) {
      expect<evaluate_mistakes>(call, outputs_of(expected, {"y"}));
    });
  }

  CHECK_CASE("shapes drawn at random, and numbers at the ends of the types, infinite and NaN",
             points(1), todo(2)) {
    draw_tensors(kEvaluate, 6, check_y);
    sweep_values(6, 90, [](const Matrix& x, double eps) { check_y(arguments_of(x, eps)); });
    const Outputs y = outputs_of(expected, {"y"});
    check_small_and_ends(kEvaluate, [&](const Case& call) { expect<evaluate_mistakes>(call, y); });
    const auto with_space = [](std::int64_t space) {
      return call_of(kEvaluate, random_arguments(Dtype::fp16, {3, 2, space}));
    };
    check_not_finite(with_space(90), y, expect<evaluate_mistakes>);
    check_each_kernel_not_finite(kEvaluate, "space", with_space, y, expect<evaluate_mistakes>);
  }
}

}  // namespace
}  // namespace onepass::batchnorm::evaluate_checks
