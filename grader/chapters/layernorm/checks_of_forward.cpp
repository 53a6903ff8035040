// What the checks of exercises 2.1 and 2.5 do.
#include "chapters/layernorm/checks_of_forward.h"

#include <utility>

namespace onepass::layernorm {

namespace {

/// A row that holds one number only, between two others: its variance is 0.
Matrix constant_row(Dtype dtype, std::int64_t cols) {
  return changed(random_x(dtype, 3, cols),
                 [](auto row, auto, double value) { return row == 1 ? 3.0 : value; });
}

/// Each eighth of a row has a mean of its own: what is found of parts has to be brought together.
Matrix uneven(Dtype dtype, std::int64_t rows, std::int64_t cols) {
  return changed(random_x(dtype, rows, cols), [cols](auto, auto col, double value) {
    return value + static_cast<double>(8 * col / cols);
  });
}

}  // namespace

Matrix random_x(Dtype dtype, std::int64_t rows, std::int64_t cols, double mean, double deviation) {
  return random_tensor("x", dtype, rows, cols, mean, deviation);
}

Case ForwardChecks::call_of(Matrix x, float eps, const Arrangement& arrangement) const {
  Matrix weight = random_weight(x.dtype(), x.cols());
  Matrix bias = random_bias(x.dtype(), x.cols());
  return forward_call(std::move(x), std::move(weight), std::move(bias), eps, arrangement,
                      function_);
}

void ForwardChecks::check(const Outputs& outputs, Matrix x, float eps,
                          const Arrangement& arrangement) const {
  expect<forward_mistakes>(call_of(std::move(x), eps, arrangement), outputs);
}

CheckRows ForwardChecks::rows_of(const Outputs& outputs) const {
  return [this, outputs](Dtype dtype, std::int64_t rows, std::int64_t cols,
                         const Arrangement& arrangement) {
    check(outputs, random_x(dtype, rows, cols), kEps, arrangement);
  };
}

// ---- mean and rstd ----

void ForwardChecks::mean_is_added_up_in_fp32() const {
  for (Dtype dtype : kSixteenBit) {
    check(kOfMean, random_x(dtype, 2, 4097, 1.0));  // 16-bit sums stop growing
  }
}

void ForwardChecks::large_means() const {
  for (std::int64_t cols : {300, 1000}) {  // 1000: padded lanes would add (0 - mean)^2
    check(kOfRstd, random_x(Dtype::fp32, 4, cols, 100.0));
    check(kOfRstd, random_x(Dtype::fp32, 8, cols, 1000.0));
  }
  check(kOfRstd, random_x(Dtype::fp16, 4, 256, 100.0));
  check(kOfRstd, random_x(Dtype::fp16, 4, 1000, 1000.0, 4.0));
  check(kOfRstd, random_x(Dtype::bf16, 4, 257, 100.0, 4.0));
  check(kOfRstd, random_x(Dtype::fp32, 8, 1024, 10000.0));
}

void ForwardChecks::means_of_wide_rows(const Outputs& outputs) const {
  for (std::int64_t cols : {8200, 8201, 33001}) {  // that may have a kernel of their own
    check(outputs, random_x(Dtype::fp32, 6, cols, far_mean(Dtype::fp32)));
  }
  // An honest mean of so many columns may be off by as much as E[x^2] - E[x]^2 is there. Farther
  // off that comes out as a whole number, and the variance is about a half.
  for (std::int64_t cols : {8200, 8201, 33001, 65536}) {
    check(outputs, random_x(Dtype::fp32, 2, cols, 3000.0, 0.7));
    check(outputs, uneven(cols % 2 == 0 ? Dtype::bf16 : Dtype::fp32, 2, cols));
  }
  // Whoever takes some elements for what all are like, loses the digits of the others.
  for (std::int64_t cols : {2000, 8200}) {
    check(outputs, changed(random_x(Dtype::fp32, kLandmarkRows, cols),
                           [&](auto row, auto col, double value) {
                             return is_landmark(row, col, cols) ? value + 1000.0 : value;
                           }));
  }
}

void ForwardChecks::eps_is_added_as_given() const {
  for (const auto& all : {rows_for_eps(), rows_for_eps({2064})}) {
    for (const auto& [x, eps] : all) {
      check(kOfRstd, x, static_cast<float>(eps));
    }
  }
  for (Dtype dtype : kEveryDtype) {
    check(kOfRstd, constant_row(dtype, 100), 1e-5f);
  }
}

void ForwardChecks::eps_in_wide_rows() const {
  for (const auto& [x, eps] : rows_for_eps({8200, 17000, 33001})) {
    check(kOfRstd, x, static_cast<float>(eps));
  }
}

void ForwardChecks::one_large_number() const {
  sweep_spikes([this](Dtype dtype, std::int64_t cols, const std::vector<std::int64_t>& columns) {
    check(kOfRstd, small_but_for(dtype, cols, columns));
  });
}

// ---- y ----

void ForwardChecks::weight_or_bias_missing() const {
  for (Dtype dtype : kEveryDtype) {
    for (std::int64_t cols : {5, 1000}) {
      for (const std::set<std::string>& missing :
           {std::set<std::string>{"weight"}, {"bias"}, {"weight", "bias"}}) {
        Arrangement arrangement;
        arrangement.left_out = missing;
        check(kOfY, random_x(dtype, 3, cols), kEps, arrangement);
      }
    }
  }
}

void ForwardChecks::y_is_rounded_once() const {
  for (Dtype dtype : kSixteenBit) {
    check(kOfY, random_x(dtype, 4, 1000));
    check(kOfY, random_x(dtype, 3, 200, 100.0, 10.0));
    check(kOfY, random_x(dtype, 3, 70, 300.0, 10.0));
  }
}

void ForwardChecks::row_counts() const {
  check_row_counts(function_, rows_of(kOfForward));
  check(kOfY, random_x(Dtype::fp32, 129, 33), kEps, {{"x", {7}}, {"y", {2}}});
}

void ForwardChecks::wide_rows() const {
  check_widest(function_, rows_of(kOfForward));
  sweep_ends(function_, rows_of(kOfForward));
  sweep_wide_ways(function_, rows_of(kOfForward));
  check_every_size(function_, [](const Case& call) {
    expect<forward_mistakes>(common::far_off(call), kOfForward);
  });
}

void ForwardChecks::random_shapes_and_values(std::int64_t most) const {
  draw_rows(function_, 6, rows_of(kOfY));
  check_again(rows_of(kOfY));
  sweep_values(4, 300, [this](const Matrix& x, double eps) {
    check(kOfRstd, x, static_cast<float>(eps));
    check(kOfY, x, static_cast<float>(eps));
  });
  check_small_and_ends(
      function_,
      [](const Case& call) { expect<forward_mistakes>(common::far_off(call), kOfForward); }, most);
  check_not_finite(call_of(random_x(Dtype::fp16, 4, 300)), kOfForward, expect<forward_mistakes>);
  check_each_kernel_not_finite(
      function_, "cols",
      [this](std::int64_t cols) { return call_of(random_x(Dtype::fp16, 4, cols)); }, kOfForward,
      expect<forward_mistakes>);
}

}  // namespace onepass::layernorm
