// The checks of exercise 4.1. Those of TODO 1 look at save_mean only, those of TODO 2 at save_rstd,
// those of TODO 3 at the running statistics, those of TODO 4 at y.
#include <cmath>
#include <string>
#include <utility>

#include "chapters/batchnorm/mistakes.h"
#include "chapters/batchnorm/shapes.h"
#include "chapters/common/check.h"

namespace onepass::batchnorm::forward_checks {
namespace {

const std::vector<std::string> kRunning = {"running_mean", "running_var"};
const std::vector<std::string> kSavedAndY = {"save_mean", "save_rstd", "y"};
const std::vector<std::string> kAll = {"save_mean", "save_rstd", "running_mean", "running_var",
                                       "y"};

void check(const std::vector<std::string>& outputs, Arguments arguments) {
  expect<forward_mistakes>(call_of(kForward, std::move(arguments)), outputs_of(expected, outputs));
}

/// The outputs, for each dtype and each of the shapes.
void check_shapes(const std::vector<std::string>& outputs, const std::vector<Shape>& shapes) {
  for (Dtype dtype : kEveryDtype) {
    for (const Shape& shape : shapes) {
      check(outputs, random_arguments(dtype, shape));
    }
  }
}

/// Small numbers, and in channel c a large one, at element elements[c]. If it is lost, the
/// statistics are several times too small.
Arguments spikes(Dtype dtype, Shape shape, const std::vector<std::int64_t>& elements) {
  shape.channels = static_cast<std::int64_t>(elements.size());
  Arguments arguments = random_arguments(dtype, shape, 0.0, 0.05);
  for (std::int64_t c = 0; c < shape.channels; ++c) {
    const std::int64_t j = elements[static_cast<std::size_t>(c)];
    arguments.x.set(j / shape.space * shape.channels + c, j % shape.space, 8.0);
  }
  return arguments;
}

void check_spikes(const std::string& output) {
  for (Dtype dtype : {Dtype::fp32, Dtype::fp16}) {
    for (const Shape& shape : {Shape{3, 1, 33}, Shape{2, 1, 520}, Shape{70, 1, 1}}) {
      const std::int64_t count = shape.batch * shape.space;
      check({output}, spikes(dtype, shape, {0, shape.space - 1, count / 2, count - 2, count - 1}));
    }
  }
}

/// The same call with an x whose mean is far from 0.
Case far_off(const Case& call) {
  std::vector<verdict::Buffer> buffers = call.buffers();
  for (verdict::Buffer& buffer : buffers) {
    if (buffer.name == "x") {
      buffer.hash->mean = 0.5 * far_mean(buffer.dtype);
    }
  }
  return call.with(buffers);
}

/// The outputs, in every way that the tensors may lie.
void check_arrangements(const std::vector<std::string>& outputs,
                        const std::set<std::string>& only) {
  sweep_tensors(
      kForward, [&](Arguments arguments) { check(outputs, std::move(arguments)); }, only);
}

TEST_SUITE("batchnorm/forward") {
  // ---- TODO 1: the mean ----

  CHECK_CASE("2-D input: the mean of a channel goes over all samples", points(1), todo(1)) {
    check_shapes({"save_mean"}, kTwoDimensional);
    check({"save_mean"}, random_arguments(Dtype::fp32, kManyChannels));
  }

  CHECK_CASE("3-D and 4-D input: over all positions too", points(2), todo(1)) {
    check_shapes({"save_mean"}, kThreeDimensional);
    check_shapes({"save_mean"}, kFourDimensional);
  }

  CHECK_CASE("one large number in a channel of small ones counts wherever it is", points(1),
             todo(1)) {
    check_spikes("save_mean");
  }

  CHECK_CASE("fp16 and bf16 are added up in fp32", points(1), todo(1)) {
    for (Dtype dtype : kSixteenBit) {
      check({"save_mean"}, random_arguments(dtype, {2, 1, 2049}, 3.0));
      check({"save_mean"}, random_arguments(dtype, {3, 2, 200}, 300.0, 10.0));
    }
  }

  CHECK_CASE("the mean of an x that starts at any address", points(1), todo(1)) {
    check_arrangements({"save_mean"}, {"x", "save_mean"});
  }

  // ---- TODO 2: rstd ----

  CHECK_CASE("rstd is 1 / sqrt(var + eps), the variance divided by the count", points(3), todo(2)) {
    check_shapes({"save_rstd"}, kTwoDimensional);
    check({"save_rstd"}, random_arguments(Dtype::fp16, kManyChannels));
    check_shapes({"save_rstd"}, kThreeDimensional);
    check_shapes({"save_rstd"}, kFourDimensional);
  }

  CHECK_CASE("mean 100 and 1000: the variance does not drown in the mean", points(2), todo(2)) {
    for (double mean : {100.0, 1000.0}) {
      check({"save_rstd"}, random_arguments(Dtype::fp32, {4, 3, 70}, mean));
      check({"save_rstd"}, random_arguments(Dtype::fp32, {300, 2, 1}, mean));
    }
    check({"save_rstd"}, random_arguments(Dtype::fp16, {4, 3, 72}, 100.0));
  }

  CHECK_CASE("eps is added to the variance, inside the root, as it is given", points(1), todo(2)) {
    for (float eps : {0.0f, 1e-5f, 1e-3f, 0.25f}) {
      // About as large as sqrt(eps), where its place is most easily seen; then without influence.
      const double size = eps == 0.0f ? 0.01 : std::sqrt(static_cast<double>(eps));
      for (const auto& [dtype, spread] : {std::pair(Dtype::fp32, size),
                                          {Dtype::fp32, 1.0},
                                          {Dtype::fp16, size},
                                          {Dtype::bf16, size}}) {
        Arguments arguments = random_arguments(dtype, {4, 3, 9}, 0.0, spread);
        arguments.eps = eps;
        check({"save_rstd"}, arguments);
      }
    }
    for (const Shape& shape : {Shape{3, 1, 3000}, Shape{2, 1, 40000}}) {  // other code, maybe
      check({"save_rstd"}, random_arguments(Dtype::fp32, shape, 0.0, 3e-3));
    }
  }

  CHECK_CASE("one large number in a channel of small ones: its square counts", points(1), todo(2)) {
    check_spikes("save_rstd");
  }

  // ---- TODO 3: running statistics ----

  CHECK_CASE("running_mean and running_var move by momentum; the variance is divided by count - 1",
             points(3), todo(3)) {
    for (float momentum : {0.1f, 0.01f, 0.75f}) {
      for (const Shape& shape : {Shape{2, 3, 1}, Shape{4, 2, 5}, Shape{3, 40, 1}}) {
        Arguments arguments = random_arguments(Dtype::fp32, shape, 1.0, 2.0);
        arguments.momentum = momentum;
        check(kRunning, arguments);
      }
    }
    check(kRunning, random_arguments(Dtype::fp16, {4, 2, 16}, 1.0, 2.0));
    check(kRunning, random_arguments(Dtype::bf16, {4, 2, 7}, 1.0, 2.0));
    check_far_channels(kForward, outputs_of(expected, kRunning));
  }

  CHECK_CASE("momentum 0 keeps the running statistics, momentum 1 replaces them", points(1),
             todo(3)) {
    for (float momentum : {1.0f, 0.0f}) {
      Arguments arguments = random_arguments(Dtype::fp32, {3, 2, 11}, 1.0);
      arguments.momentum = momentum;
      check(kRunning, arguments);
    }
    // What was there before is large, and has next to no share or none.
    for (float momentum : {0.999f, 1.0f}) {
      Arguments arguments = random_arguments(Dtype::fp32, {3, 5, 11}, 1.0);
      const auto enlarged = [](auto, auto, double value) { return 1e8 * value; };
      arguments.running_mean = changed(arguments.running_mean, enlarged);
      arguments.running_var = changed(arguments.running_var, enlarged);
      arguments.momentum = momentum;
      check(kRunning, arguments);
    }
  }

  // ---- TODO 4: y ----

  CHECK_CASE("2-D input: y is (x - mean) * rstd * weight + bias", points(2), todo(4)) {
    check_shapes({"y"}, kTwoDimensional);
    check({"y"}, random_arguments(Dtype::bf16, kManyChannels));
  }

  CHECK_CASE("3-D and 4-D input: each element of y is written where x has it", points(2), todo(4)) {
    check_shapes({"y"}, kThreeDimensional);
    check_shapes({"y"}, kFourDimensional);
    sweep_large_sizes(kForward, {{"batch"}, {"channels"}, {"space"}}, [](const Case& call) {
      expect<forward_mistakes>(far_off(call), outputs_of(expected, kSavedAndY));
    });
    check_far_channels(kForward, outputs_of(expected, kSavedAndY));
  }

  CHECK_CASE("fp16 and bf16: y is rounded once, at the very end", points(1), todo(4)) {
    for (Dtype dtype : kSixteenBit) {
      check({"y"}, random_arguments(dtype, {3, 3, 100}, 5.0, 3.0));
      check({"y"}, random_arguments(dtype, {50, 5, 1}));
    }
  }

  CHECK_CASE("x, y, weight and bias may start at any address", points(1), todo(4)) {
    check_arrangements({"y"}, {"x", "weight", "bias", "y"});
    sweep_vectors(kForward, [](Arguments arguments) { check(kAll, std::move(arguments)); });
  }

  CHECK_CASE("a channel of equal numbers has variance 0, and y is its bias", points(1), todo(4)) {
    for (Dtype dtype : kEveryDtype) {
      Arguments arguments = random_arguments(dtype, {3, 3, 8});
      arguments.x = changed(arguments.x, [](auto row, auto, double value) {
        return row % 3 == 1 ? 0.75 : value;  // channel 1 of 3
      });
      check({"y"}, arguments);
    }
  }

  CHECK_CASE("an empty tensor: nothing is written", points(1), todo(4)) {
    check({"y"}, random_arguments(Dtype::fp32, {2, 1, 3}));
    expect_nothing_done(kForward);
  }

  CHECK_CASE("called again, on other numbers or the same, it is right again", points(1), todo(4)) {
    for (int repeat = 0; repeat < 4; ++repeat) {
      const common::Generation numbers((repeat + 1) / 2);
      check(kAll, random_arguments(Dtype::fp32, {4, 3, 50}));
      check(kAll, random_arguments(Dtype::bf16, {2 + repeat, 2, 24}));
    }
    check_side_by_side([](std::int64_t batch) {
      check(kAll, random_arguments(Dtype::fp32, {batch, 5, 30}));
    });
  }

  CHECK_CASE("shapes drawn at random, and numbers at the ends of the types, infinite and NaN",
             points(1), todo(4)) {
    draw_tensors(kForward, 6, [](Arguments arguments) { check(kAll, std::move(arguments)); });
    sweep_values(6, 90, [](const Matrix& x, double eps) { check(kAll, arguments_of(x, eps)); });
    check_not_finite(call_of(kForward, random_arguments(Dtype::fp16, {3, 2, 90})),
                     outputs_of(expected, kAll), expect<forward_mistakes>);
  }
}

}  // namespace
}  // namespace onepass::batchnorm::forward_checks
