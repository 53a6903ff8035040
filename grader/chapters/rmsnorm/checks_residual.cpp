// The checks of exercise 1.5. Those of TODO 1 look at the sum only, those of TODO 2 at rstd.
#include <utility>

#include "chapters/rmsnorm/calls_residual.h"
#include "chapters/rmsnorm/mistakes.h"
#include "chapters/rmsnorm/requests.h"
#include "chapters/rmsnorm/shapes.h"
#include "verdict/session/check.h"

namespace onepass::rmsnorm::residual_checks {
namespace {

using verdict::points;
using verdict::session;
using verdict::todo;

constexpr double kEps = 1e-6;

using Expected = std::vector<Expectation> (*)(const Case&);

std::vector<Expectation> sum(const Case& call) {
  return {expected_sum(call)};
}
std::vector<Expectation> rstd(const Case& call) {
  return {expected_residual_rstd(call)};
}
std::vector<Expectation> y(const Case& call) {
  return {expected_residual_y(call)};
}
std::vector<Expectation> all(const Case& call) {
  return {expected_sum(call), expected_residual_rstd(call), expected_residual_y(call)};
}

const std::vector<verdict::Oracle>& mistakes() {
  static const std::vector<verdict::Oracle> every = residual_mistakes();
  return every;
}

/// What is added, and where it lies.
struct Inputs {
  Matrix x, residual;
};

Inputs random_inputs(Dtype dtype, std::int64_t rows, std::int64_t cols, double mean = 0.0) {
  return {random_x(dtype, rows, cols),
          numbers("residual", dtype, rows, cols).normal_matrix(dtype, rows, cols, mean, 2.0)};
}

Case call_of(Inputs inputs, ResidualLayout layout = {}, double eps = kEps) {
  Matrix weight = random_weight(inputs.x.dtype(), inputs.x.cols());
  return residual_call(std::move(inputs.x), std::move(inputs.residual), std::move(weight), eps,
                       layout);
}

void check(Expected expected, Inputs inputs, ResidualLayout layout = {}, double eps = kEps) {
  const Case call = call_of(std::move(inputs), layout, eps);
  session().expect(call, expected(call), mistakes());
}

/// A residual that all but cancels x: what is left is small, and different in each column.
Inputs cancelling(Dtype dtype, std::int64_t rows, std::int64_t cols) {
  Inputs inputs = random_inputs(dtype, rows, cols);
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t col = 0; col < cols; ++col) {
      inputs.residual.set(row, col, -inputs.x.get(row, col) * (1.0 + 0.125 * ((row + col) % 3)));
    }
  }
  return inputs;
}

/// Where all four tensors lie apart, each in its own way.
ResidualLayout scattered(const Placement& placement) {
  const Layout odd = layout_of(placement);
  return {odd, {odd.stride + 16, 0}, {}, {odd.stride + 24, 0}, {odd.stride + 32, 0}};
}

void check_narrow(Expected expected) {
  for (Dtype dtype : kEveryDtype) {
    check(expected, random_inputs(dtype, 17, 17));  // square: swapped indices stay inside
    check(expected, random_inputs(dtype, 5, 1));
    for (std::int64_t cols : kUpToAWarp) {
      check(expected, random_inputs(dtype, 2, cols));
    }
    for (std::int64_t cols : kUpToABlock) {
      check(expected, random_inputs(dtype, 3, cols));
    }
  }
}

void check_wide(Expected expected) {
  for (Dtype dtype : kEveryDtype) {
    for (std::int64_t cols : kWide) {
      check(expected, random_inputs(dtype, 2, cols));
    }
  }
  check(expected, random_inputs(Dtype::bf16, 1, 4097));  // odd
  check(expected, random_inputs(Dtype::fp32, 1, 16384));
  check(expected, random_inputs(Dtype::fp16, 1, 65536));
}

void check_in_place(Expected expected, bool sum_in_place, bool y_in_place) {
  for (Dtype dtype : kEveryDtype) {
    ResidualLayout layout;
    layout.sum_in_place = sum_in_place;
    layout.y_in_place = y_in_place;
    check(expected, random_inputs(dtype, 5, 40), layout);
    check(expected, random_inputs(dtype, 2, 1000), layout);
    layout.x = {1040, 1};  // y over x lies there too
    layout.residual = {1016, 0};
    check(expected, random_inputs(dtype, 3, 1001), layout);
  }
}

/// No rows: legal, and nothing may be written.
void check_zero_rows() {
  Case call("rmsnorm_residual", Dtype::fp32);
  call.integer("rows", 0).integer("cols", 1).real("eps", kEps);
  for (const char* stride : {"x_stride", "residual_stride", "sum_stride", "y_stride"}) {
    call.integer(stride, 1);
  }
  call.input("x", random_x(Dtype::fp32, 1, 1)).input("residual", random_x(Dtype::fp32, 1, 1));
  call.input("weight", random_weight(Dtype::fp32, 1));
  for (const char* output : {"sum", "y", "rstd"}) {
    call.output(output, Dtype::fp32, 1, 1);
  }
  session().expect_untouched(call, "With rows = 0 there is no row to write, yet {} was.");
}

TEST_SUITE("rmsnorm/residual") {
  // ---- TODO 1: the sum ----

  TEST_CASE("1 to 257 columns: sum is x + residual, rounded once" * points(2) * todo(1)) {
    check_narrow(sum);
    for (Dtype dtype : kEveryDtype) {
      check(sum, cancelling(dtype, 3, 100));
    }
  }

  TEST_CASE("769 to 65,536 columns: the sum of every column" * points(1) * todo(1)) {
    check_wide(sum);
  }

  TEST_CASE("the sum in place: it is written over residual" * points(2) * todo(1)) {
    check_in_place(sum, true, false);
  }

  // ---- TODO 2: rstd ----

  TEST_CASE("1 to 257 columns: rstd of the sum" * points(1) * todo(2)) {
    check_narrow(rstd);
  }

  TEST_CASE("769 to 65,536 columns: every column of the sum counts" * points(1) * todo(2)) {
    check_wide(rstd);
  }

  TEST_CASE("fp16 and bf16: rstd is that of the rounded sum" * points(1) * todo(2)) {
    for (Dtype dtype : kSixteenBit) {
      check(rstd, random_inputs(dtype, 3, 100, 20.0));  // whose rounding takes much of x away
      check(rstd, random_inputs(dtype, 3, 1000, 20.0));
    }
  }

  TEST_CASE("a residual that cancels x: a row of zeros has rstd 1 / sqrt(eps)" * points(1) *
            todo(2)) {
    for (Dtype dtype : kEveryDtype) {
      Inputs inputs = cancelling(dtype, 3, 100);
      for (std::int64_t col = 0; col < 100; ++col) {
        inputs.residual.set(1, col, -inputs.x.get(1, col));
      }
      check(rstd, inputs, {}, 1e-5);
      check(rstd, std::move(inputs), {}, 0.25);
    }
  }

  // ---- TODO 3: y ----

  TEST_CASE("1 to 257 columns: y is sum * rstd * weight" * points(2) * todo(3)) {
    check_narrow(y);
  }

  TEST_CASE("769 to 65,536 columns: y of every column" * points(1) * todo(3)) {
    check_wide(y);
  }

  TEST_CASE("fp16 and bf16: y is that of the rounded sum, and rounded once itself" * points(2) *
            todo(3)) {
    for (Dtype dtype : kSixteenBit) {
      check(y, random_inputs(dtype, 3, 100, 20.0));
      check(y, random_inputs(dtype, 3, 1000, 20.0));
      check(y, cancelling(dtype, 3, 200));
    }
  }

  TEST_CASE("four strides of their own, at any address" * points(2) * todo(3)) {
    for (Dtype dtype : kEveryDtype) {
      for (const Placement& placement : kPlacements) {
        const ResidualLayout layout = scattered(placement);
        check(all, random_inputs(dtype, 3, placement.cols), layout);
        check(all, random_inputs(dtype, 2, placement.cols),
              {layout.sum, layout.x, {0, 1}, layout.y, layout.residual});
        check(all, random_inputs(dtype, 2, placement.cols),
              {layout.y, layout.sum, {}, layout.residual, layout.x});
        check(all, random_inputs(dtype, 2, placement.cols),
              {layout.residual, layout.y, {}, layout.x, layout.sum});
      }
    }
    const Layout far_apart = {(std::int64_t{1} << 30) + 8, 0};  // row * stride is beyond 2^31
    for (const ResidualLayout& far :
         {ResidualLayout{far_apart, {}, {}, {}, {}}, ResidualLayout{{}, far_apart, {}, {}, {}},
          ResidualLayout{{}, {}, {}, far_apart, {}}, ResidualLayout{{}, {}, {}, {}, far_apart}}) {
      check(all, random_inputs(Dtype::fp16, 3, 65), far);
    }
  }

  TEST_CASE("in place: y is written over x, with the sum over residual or not" * points(2) *
            todo(3)) {
    check_in_place(all, false, true);
    check_in_place(all, true, true);
  }

  TEST_CASE("x and residual are loaded once, and the sum is not loaded at all" * points(2) *
            todo(3)) {
    for (Dtype dtype : kEveryDtype) {
      for (std::int64_t cols : {64, 1001, 4096}) {
        for (bool in_place : {false, true}) {
          ResidualLayout layout;
          layout.sum_in_place = layout.y_in_place = in_place;
          const Case call = call_of(random_inputs(dtype, 2, cols), layout);
          if (const auto traffic = session().expect_and_count(call, all(call), mistakes())) {
            if (!in_place) {
              require_not_loaded(call, *traffic, "sum");
            }
            require_loaded_once(call, *traffic, "x");
            require_loaded_once(call, *traffic, "residual");
          }
        }
      }
    }
  }

  TEST_CASE("no rows, one row, many rows" * points(1) * todo(3)) {
    check(all, random_inputs(Dtype::fp32, 1, 100));
    check_zero_rows();
    for (std::int64_t rows : {3, 7, 31}) {
      check(all, random_inputs(Dtype::bf16, rows, 32));
    }
    check(all, random_inputs(Dtype::fp16, 1031, 3));
    if (session().device() == "gpu") {
      check(all, random_inputs(Dtype::fp16, 65537, 8));  // more than a grid's y and z can have
    }
  }

  TEST_CASE("called again, on other numbers or the same, it is right again" * points(1) * todo(3)) {
    for (int repeat = 0; repeat < 3; ++repeat) {
      check(all, random_inputs(Dtype::fp32, 9, 100));
      check(all, random_inputs(Dtype::bf16, 2 + repeat, 1000));
    }
  }

  TEST_CASE("shapes drawn at random" * points(1) * todo(3)) {
    for (std::uint64_t number = 0; number < 6; ++number) {
      const DrawnShape shape = drawn_shape(number);
      check(all, random_inputs(shape.dtype, shape.rows, shape.cols),
            {shape.x, shape.y, {}, shape.x, shape.y});
    }
  }
}

}  // namespace
}  // namespace onepass::rmsnorm::residual_checks
