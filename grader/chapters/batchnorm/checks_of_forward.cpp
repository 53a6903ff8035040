// What the checks of exercises 4.1 and 4.3 do.
#include "chapters/batchnorm/checks_of_forward.h"

#include <bit>
#include <cmath>
#include <utility>

namespace onepass::batchnorm {

namespace {

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

/// Of one channel, whose parts differ in mean by as much: samples, and the halves into which each
/// of ten bits of an element's number divides them, as threads and lanes do.
Arguments unlike_parts(Arguments arguments, double distance) {
  const std::int64_t space = arguments.x.cols();
  arguments.x = changed(arguments.x, [&](auto row, auto s, double value) {
    const int bits = std::popcount(static_cast<std::uint64_t>(row * space + s) % 1024);
    return value + distance * (static_cast<double>(bits + row) - 5.0);
  });
  return arguments;
}

}  // namespace

void ForwardChecks::check(const Names& outputs, Arguments arguments) const {
  expect<forward_mistakes>(call_of(function_, std::move(arguments)), outputs_of(expected, outputs));
}

void ForwardChecks::check_shapes(const Names& outputs, const std::vector<Shape>& shapes) const {
  for (Dtype dtype : kEveryDtype) {
    for (const Shape& shape : shapes) {
      check(outputs, random_arguments(dtype, shape));
    }
  }
}

// ---- shapes ----

void ForwardChecks::two_dimensional(const Names& outputs, Dtype of_many_channels) const {
  check_shapes(outputs, kTwoDimensional);
  check(outputs, random_arguments(of_many_channels, kManyChannels));
}

void ForwardChecks::three_and_four_dimensional(const Names& outputs) const {
  check_shapes(outputs, kThreeDimensional);
  check_shapes(outputs, kFourDimensional);
}

void ForwardChecks::far(const Names& outputs) const {
  sweep_large_sizes(function_, {{"batch"}, {"channels"}, {"space"}}, [&](const Case& call) {
    expect<forward_mistakes>(common::far_off(call), outputs_of(expected, outputs));
  });
}

void ForwardChecks::far_channels(const Names& outputs) const {
  check_far_channels(function_, outputs_of(expected, outputs));
}

// ---- numbers ----

void ForwardChecks::one_large_number(const Names& output) const {
  for (Dtype dtype : {Dtype::fp32, Dtype::fp16}) {
    for (const Shape& shape : {Shape{3, 1, 33}, Shape{2, 1, 520}, Shape{70, 1, 1}}) {
      const std::int64_t count = shape.batch * shape.space;
      check(output, spikes(dtype, shape, {0, shape.space - 1, count / 2, count - 2, count - 1}));
    }
  }
}

void ForwardChecks::mean_is_added_up_in_fp32() const {
  for (Dtype dtype : kSixteenBit) {
    check(kMean, random_arguments(dtype, {2, 1, 2049}, 3.0));
    check(kMean, random_arguments(dtype, {3, 2, 200}, 300.0, 10.0));
  }
}

void ForwardChecks::large_means() const {
  for (double mean : {100.0, 1000.0}) {
    check(kRstd, random_arguments(Dtype::fp32, {4, 3, 70}, mean));
    check(kRstd, random_arguments(Dtype::fp32, {300, 2, 1}, mean));
  }
  check(kRstd, random_arguments(Dtype::fp16, {4, 3, 72}, 100.0));
}

void ForwardChecks::landmarks_unlike_others(const Names& output) const {
  for (const std::int64_t space : {9001, 24577}) {
    Arguments arguments = random_arguments(Dtype::fp32, {1, kLandmarkRows, space}, 1000.0);
    arguments.x = changed(arguments.x, [&](auto channel, auto place, double value) {
      return is_landmark(channel, place, space) ? 0.0 : value;
    });
    check(output, arguments);
  }
}

void ForwardChecks::eps_is_added_as_given() const {
  for (float eps : {0.0f, 1e-5f, 1e-3f, 0.25f}) {
    // About as large as sqrt(eps), where its place is most easily seen; then without influence.
    const double size = eps == 0.0f ? 0.01 : std::sqrt(static_cast<double>(eps));
    for (const auto& [dtype, spread] : {std::pair(Dtype::fp32, size),
                                        {Dtype::fp32, 1.0},
                                        {Dtype::fp16, size},
                                        {Dtype::bf16, size}}) {
      Arguments arguments = random_arguments(dtype, {4, 3, 9}, 0.0, spread);
      arguments.eps = eps;
      check(kRstd, arguments);
    }
  }
}

void ForwardChecks::eps_in_large_channels() const {
  // Other code, maybe; and two halves of which the product of the counts is no int.
  for (const Shape& shape : {Shape{3, 1, 3000}, Shape{2, 1, 50021}}) {
    check(kRstd, unlike_parts(random_arguments(Dtype::fp32, shape, 0.0, 3e-3), 1.5e-3));
  }
}

void ForwardChecks::running_statistics_move() const {
  for (float momentum : {0.1f, 0.01f, 0.75f}) {
    for (const Shape& shape : {Shape{2, 3, 1}, Shape{4, 2, 5}, Shape{3, 40, 1}}) {
      Arguments arguments = random_arguments(Dtype::fp32, shape, 1.0, 2.0);
      arguments.momentum = momentum;
      check(kRunning, arguments);
    }
  }
  check(kRunning, random_arguments(Dtype::fp16, {4, 2, 16}, 1.0, 2.0));
  check(kRunning, random_arguments(Dtype::bf16, {4, 2, 7}, 1.0, 2.0));
  check_far_channels(function_, outputs_of(expected, kRunning));
}

void ForwardChecks::momentum_0_and_1() const {
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

void ForwardChecks::running_variance_beside_eps(const std::vector<Shape>& shapes) const {
  for (const Shape& shape : shapes) {
    Arguments arguments = random_arguments(Dtype::fp32, shape, 0.0, 1e-3);
    arguments.eps = 1e-3f;
    arguments.momentum = 1.0f;
    check(kRunning, arguments);
  }
}

void ForwardChecks::y_is_rounded_once() const {
  for (Dtype dtype : kSixteenBit) {
    check(kY, random_arguments(dtype, {3, 3, 100}, 5.0, 3.0));
    check(kY, random_arguments(dtype, {50, 5, 1}));
  }
}

void ForwardChecks::equal_numbers() const {
  for (Dtype dtype : kEveryDtype) {
    Arguments arguments = random_arguments(dtype, {3, 3, 8});
    arguments.x = changed(arguments.x, [](auto row, auto, double value) {
      return row % 3 == 1 ? 0.75 : value;  // channel 1 of 3
    });
    check(kY, arguments);
  }
}

// ---- where tensors lie, and calls ----

void ForwardChecks::arrangements(const Names& outputs, const std::set<std::string>& only) const {
  sweep_tensors(
      function_, [&](Arguments arguments) { check(outputs, std::move(arguments)); }, only);
}

void ForwardChecks::vectors_at_any_address() const {
  sweep_vectors(function_, [this](Arguments arguments) { check(kAll, std::move(arguments)); });
}

void ForwardChecks::empty_tensor() const {
  check(kY, random_arguments(Dtype::fp32, {2, 1, 3}));
  expect_nothing_done(function_);
}

void ForwardChecks::called_again() const {
  for (int repeat = 0; repeat < 4; ++repeat) {
    const common::Generation numbers((repeat + 1) / 2);
    check(kAll, random_arguments(Dtype::fp32, {4, 3, 50}));
    check(kAll, random_arguments(Dtype::bf16, {2 + repeat, 2, 24}));
  }
  check_side_by_side([this](std::int64_t batch) {
    check(kAll, random_arguments(Dtype::fp32, {batch, 5, 30}));
  });
}

void ForwardChecks::calls_of_every_size() const {
  check_every_size(function_, [this](const Case& call) {
    expect<forward_mistakes>(common::far_off(call), outputs_of(expected, kAll));
  });
}

void ForwardChecks::random_shapes_and_values() const {
  draw_tensors(function_, 6, [this](Arguments arguments) { check(kAll, std::move(arguments)); });
  sweep_values(6, 90, [this](const Matrix& x, double eps) { check(kAll, arguments_of(x, eps)); });
  const Outputs all = outputs_of(expected, kAll);
  check_small_and_ends(
      function_, [&](const Case& call) { expect<forward_mistakes>(common::far_off(call), all); });
  const auto with_space = [this](std::int64_t space) {
    return call_of(function_, random_arguments(Dtype::fp16, {3, 2, space}));
  };
  check_not_finite(with_space(90), all, expect<forward_mistakes>);
  check_each_kernel_not_finite(function_, "space", with_space, all, expect<forward_mistakes>);
}

}  // namespace onepass::batchnorm
