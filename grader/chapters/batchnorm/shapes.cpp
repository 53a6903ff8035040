// The inputs that chapter 4's checks share.
#include "chapters/batchnorm/shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace onepass::batchnorm {

verdict::Random numbers(const char* tensor, Dtype dtype, const Shape& shape) {
  return common::numbers(fmt::format("{} {}", tensor, shape.batch), dtype, shape.channels,
                         shape.space);
}

Arguments random_arguments(Dtype dtype, const Shape& shape, double mean, double spread) {
  const auto drawn = [&](const char* tensor, Dtype type, double low, double high) {
    return numbers(tensor, dtype, shape).uniform_matrix(type, shape.channels, 1, low, high);
  };
  Arguments arguments;
  arguments.weight = drawn("weight", dtype, 0.5, 1.5);
  arguments.bias = drawn("bias", dtype, -1.0, 1.0);
  arguments.running_mean = drawn("running_mean", Dtype::fp32, -2.0, 2.0);
  arguments.running_var = drawn("running_var", Dtype::fp32, 0.5, 2.0);

  const verdict::Random draw = numbers("x", dtype, shape);
  const verdict::Random of_channel = numbers("channel", dtype, shape);
  arguments.x = Matrix(dtype, shape.batch * shape.channels, shape.space);
  for (std::int64_t row = 0; row < arguments.x.rows(); ++row) {
    const auto c = static_cast<std::uint64_t>(row % shape.channels);
    const double centre = mean + spread * of_channel.normal(2 * c);
    const double size = spread * (0.5 + of_channel.uniform(2 * c + 1));
    for (std::int64_t s = 0; s < shape.space; ++s) {
      const auto i = static_cast<std::uint64_t>(row * shape.space + s);
      arguments.x.set(row, s, centre + size * draw.normal(i));
    }
  }
  return arguments;
}

void sweep_tensors(const Function& function, const CheckArguments& check,
                   const std::set<std::string>& only) {
  const auto check_way = [&](Dtype dtype, std::size_t number, const verdict::contract::Way& way) {
    const std::int64_t channels = way.more > 0 ? 3 : number % 2 == 0 ? 2 : 1;
    Arguments arguments = random_arguments(dtype, {2, channels, way.row(64, 61)});
    arguments.arrangement = way.arrangement;
    check(std::move(arguments));
  };
  sweep(function, check_way, only);
  const verdict::Random draw = verdict::session().random();
  std::size_t number = 0;
  for (const std::int64_t space : {1032, 4104}) {  // that a block's threads go on and on for
    const Dtype dtype = kEveryDtype[number++ % kEveryDtype.size()];
    for (const verdict::contract::Way& way :
         verdict::contract::sweep_wide(function, dtype, draw, space)) {
      Arguments arguments = random_arguments(dtype, {2, 1, way.row(space, space + 1)});
      arguments.arrangement = way.arrangement;
      check(std::move(arguments));
    }
  }
}

void sweep_vectors(const Function& function, const CheckArguments& check) {
  for (Dtype dtype : {Dtype::fp32, Dtype::fp16}) {
    for (const Arrangement& arrangement : columns_off_boundaries(function, dtype)) {
      // Where space is 1, a kernel may have other code, and whole vectors of channels.
      for (const Shape& shape : {Shape{2, 17, 3}, Shape{2, 17, 1}, Shape{2, 16, 1}}) {
        Arguments arguments = random_arguments(dtype, shape);
        arguments.arrangement = arrangement;
        check(std::move(arguments));
      }
    }
  }
}

Arguments arguments_of(const Matrix& x, double eps) {
  Arguments arguments = random_arguments(x.dtype(), {x.rows() / 2, 2, x.cols()});
  const double size = std::max(std::abs(x.get(0, 0)), std::abs(x.get(1, 1)));
  arguments.x = x;
  arguments.eps = static_cast<float>(eps);
  for (std::int64_t c = 0; c < 2; ++c) {
    arguments.running_mean.set(c, 0, size * arguments.running_mean.get(c, 0));
    arguments.running_var.set(c, 0, size * size * arguments.running_var.get(c, 0));
  }
  return arguments;
}

void draw_tensors(const Function& function, int count, const CheckArguments& check) {
  for (int number = 0; number < count; ++number) {
    const verdict::Random draw =
        verdict::session().random().stream(fmt::format("shape {}", number));
    const Dtype dtype = kEveryDtype[static_cast<std::size_t>(draw.integer(3, 0, 2))];
    const auto size = [&](std::uint64_t i, std::int64_t most) {
      return verdict::contract::drawn_size(draw, static_cast<std::uint64_t>(number), i, most);
    };
    Arguments arguments = random_arguments(dtype, {size(0, 9), size(1, 9), size(2, 150)});
    if (number % 2 == 0) {
      check(arguments);
      arguments.arrangement = verdict::contract::drawn(function, draw.stream("arrangement"));
    }
    check(std::move(arguments));
  }
}

void check_far_channels(const Function& function, const verdict::Outputs& outputs) {
  check_far_rows(function, "channels", {{"batch", 1}, {"space", 264}}, outputs);
  if (verdict::session().device() != "cpu") {
    return;  // what lies between the channels is anything on a GPU, and the second sample lies
             // there
  }
  // The second sample begins so far behind the first, and is 0 throughout, as is what lies between
  // the channels that have numbers. Thirds of all planes, which a sample of blocks has, are none of
  // theirs.
  constexpr Shape kTwo = {2, 5, 132};
  Arguments two = random_arguments(Dtype::bf16, kTwo);
  two.x = changed(two.x,
                  [](auto row, auto, double value) { return row < kTwo.channels ? value : 0.0; });
  check_far_rows(call_of(function, std::move(two)), "channels", outputs);
}

}  // namespace onepass::batchnorm
