#include "chapters/rmsnorm/checks_of_forward_fast.h"

#include <utility>

#include "chapters/common/requests.h"

namespace onepass::rmsnorm {
namespace {

template <bool kIsRight>
void require_x_loaded_once(const Case& call, const verdict::Traffic& traffic) {
  require_loaded_once(call, traffic, "x", kIsRight);
}

template <bool kIsRight>
void require_x_and_y_in_packs(const Case& call, const verdict::Traffic& traffic) {
  require_packs(call, traffic, "x", verdict::AccessType::read, kIsRight);
  require_packs(call, traffic, "y", verdict::AccessType::write, kIsRight);
}

/// Elements in 16 bytes.
std::int64_t vector_of(Dtype dtype) {
  return 16 / static_cast<std::int64_t>(verdict::size_of(dtype));
}

}  // namespace

Case ForwardFastChecks::call_of(Matrix x, const Arrangement& arrangement, double eps) const {
  Matrix weight = random_weight(x.dtype(), x.cols());
  return forward_call(std::move(x), std::move(weight), eps, arrangement, function_);
}

void ForwardFastChecks::check(const Outputs& outputs, Matrix x, const Arrangement& arrangement,
                              double eps) const {
  expect<forward_mistakes>(call_of(std::move(x), arrangement, eps), outputs);
}

CheckRows ForwardFastChecks::rows_of(const Outputs& outputs) const {
  return [this, outputs](Dtype dtype, std::int64_t rows, std::int64_t cols,
                         const Arrangement& arrangement) {
    check(outputs, random_x(dtype, rows, cols), arrangement);
  };
}

void ForwardFastChecks::eps_inside_the_root(const common::WithEps& all) const {
  for (const auto& [x, eps] : all) {
    check(kOfRstd, x, {}, eps);
  }
}

void ForwardFastChecks::held_rows(const Outputs& outputs) const {
  sweep_widths(769, 1025, rows_of(outputs));
  check(outputs, random_x(Dtype::fp32, 1, 4096));
  check(outputs, random_x(Dtype::bf16, 1, 4097));  // odd
  check(outputs, random_x(Dtype::fp16, 1, 9216));  // 9 * 1024
  check(outputs, random_x(Dtype::fp32, 1, 16384));
  check(outputs, random_x(Dtype::fp16, 1, 16383));
}

void ForwardFastChecks::one_large_number() const {
  sweep_spikes([this](Dtype dtype, std::int64_t cols, const std::vector<std::int64_t>& columns) {
    check(kOfRstd, small_but_for(dtype, cols, columns));
  });
  check(kOfRstd, small_but_for(Dtype::fp16, 1008, boundary_columns(1008)));
}

void ForwardFastChecks::rounded_once() const {
  for (Dtype dtype : kSixteenBit) {
    check(kOfY, random_x(dtype, 4, 1000));
    check(kOfY, random_x(dtype, 3, 200, 100.0));
    check(kOfY, random_x(dtype, 3, 72, 300.0, 10.0));
  }
}

void ForwardFastChecks::without_weight(std::int64_t cols) const {
  Arrangement arrangement;
  arrangement.left_out = {"weight"};
  for (Dtype dtype : kEveryDtype) {
    check(kOfForward, random_x(dtype, 3, cols), arrangement);
    check(kOfForward, random_x(dtype, 2, cols + 1), arrangement);
  }
}

void ForwardFastChecks::rows_apart() const {
  for (Dtype dtype : kEveryDtype) {
    check(kOfY, random_x(dtype, 5, 256), {{"x", {64, 0}}, {"y", {32, 0}}});
    check(kOfY, random_x(dtype, 3, 1000), {{"x", {7, 0}}, {"y", {24, 0}}});
  }
  sweep_far_apart(function_, rows_of(kOfForward));
  check_far_rows(function_, kOfForward);
}

void ForwardFastChecks::one_unaligned() const {
  sweep_rows(function_, rows_of(kOfForward));
  for (Dtype dtype : kEveryDtype) {
    rows_of(kOfForward)(dtype, 2, 4093, {{"x", {13, 0}}, {"y", {5, 3}}});
  }
}

void ForwardFastChecks::wide_rows(const Outputs& outputs) const {
  check(outputs, random_x(Dtype::bf16, 2, 20000));
  check(outputs, random_x(Dtype::fp32, 1, 32769));  // odd
  check_widest(function_, rows_of(outputs));
  sweep_ends(function_, rows_of(outputs));
  sweep_wide_ways(function_, rows_of(outputs));
}

void ForwardFastChecks::random_shapes_and_values(std::int64_t most) const {
  const auto check_forward = [](const Case& call) { expect<forward_mistakes>(call, kOfForward); };
  draw_rows(function_, 6, rows_of(kOfForward));
  for (std::int64_t cols : {300, 1024}) {  // odd rows of 16 bits, and rows of packs
    sweep_values(4, cols, [this](const Matrix& x, double eps) { check(kOfForward, x, {}, eps); });
    check_not_finite(call_of(random_x(Dtype::fp16, 4, cols)), kOfForward, expect<forward_mistakes>);
  }
  check_small_and_ends(function_, check_forward, most);
  check_each_kernel_not_finite(
      function_, "cols",
      [this](std::int64_t cols) { return call_of(random_x(Dtype::fp16, 4, cols)); }, kOfForward,
      expect<forward_mistakes>);
}

void ForwardFastChecks::called_again() const {
  check_again(rows_of(kOfForward));
  check_every_size(function_, [](const Case& call) { expect<forward_mistakes>(call, kOfForward); });
}

// ---- Traffic ----

void ForwardFastChecks::loaded_once(std::int64_t rows, std::int64_t cols, Dtype dtype,
                                    const Arrangement& arrangement) const {
  count<forward_mistakes>(
      call_of(random_x(dtype, rows, cols), arrangement), compared_,
      compared_.empty() ? require_x_loaded_once<false> : require_x_loaded_once<true>);
}

void ForwardFastChecks::loaded_once_up_to(std::int64_t most) const {
  for (Dtype dtype : kEveryDtype) {
    loaded_once(5, 64, dtype);
    loaded_once(2, 1001, dtype);                                    // odd
    loaded_once(2, 1000, dtype, {{"x", {24, 1}}, {"y", {24, 0}}});  // one past 16 bytes
    loaded_once(2, 1000, dtype, {{"x", {40000}}, {"y", {40000}}});
    loaded_once(2, 1000, dtype, rows_far_apart(function_));
    count_other_ways<forward_mistakes>(call_of(random_x(dtype, 3, 80), {}), true, kOfY,
                                       require_x_loaded_once<true>);
    // Packs, and what is left over after the last whole one: more than a trifle.
    loaded_once(3, 2 * vector_of(dtype) - 1, dtype, {{"x", {1}}, {"y", {1}}});
  }
  loaded_once(1, most, Dtype::fp32);
  loaded_once(1, most, Dtype::bf16);
  loaded_once(1, most / 2 + 2 * session().random().integer(0, 0, most / 4 - 1) + 1, Dtype::fp32);
  loaded_once(1, most - 1, Dtype::fp16);
  for_ends_of_kernels(function_, {"cols", 1, most},
                      [this](Dtype dtype, std::int64_t rows, std::int64_t cols) {
                        loaded_once(rows, cols, dtype);
                      });
  for_kernels_of_many(function_, "rows", {{"cols", 8}},
                      [this](Dtype dtype, std::int64_t rows) { loaded_once(rows, 8, dtype); });
}

void ForwardFastChecks::in_packs(std::int64_t rows, std::int64_t cols, Dtype dtype,
                                 const Arrangement& arrangement) const {
  count<forward_mistakes>(
      call_of(random_x(dtype, rows, cols), arrangement), compared_,
      compared_.empty() ? require_x_and_y_in_packs<false> : require_x_and_y_in_packs<true>);
}

void ForwardFastChecks::in_packs_up_to(std::int64_t most) const {
  for (Dtype dtype : kEveryDtype) {
    const std::int64_t vector = vector_of(dtype);
    in_packs(3, vector, dtype);
    in_packs(2, 5 * vector, dtype);
    in_packs(2, 6 * vector, dtype, just_aligned(function_, dtype));
    in_packs(3, 64, dtype);
    in_packs(2, 1000, dtype, {{"x", {24, 0}}, {"y", {8, 0}}});
    Arrangement without_weight;
    without_weight.left_out = {"weight"};
    in_packs(2, 8 * vector, dtype, without_weight);
    // 8 elements: 16 or 32 bytes
    in_packs(1, 4096, dtype, {{"x", {0, 8}}, {"weight", {0, 8}}, {"y", {0, 16}}});
  }
  for_ends_of_vectors(
      function_, {"cols", 1, most},
      [this](Dtype dtype, std::int64_t rows, std::int64_t cols) { in_packs(rows, cols, dtype); });
}

}  // namespace onepass::rmsnorm
