// The checks of exercise 1.4. Those of TODO 1 look at rstd only. Until TODO 4 rows have at most
// 16,384 columns, which any way of holding a row can be made for.
//
// What the exercise is about is traffic, and on the simulator that can be seen: how often x was
// loaded, and in accesses of how many bytes. On a GPU the same calls are checked for their results.
#include <optional>
#include <utility>

#include "chapters/rmsnorm/calls.h"
#include "chapters/rmsnorm/mistakes.h"
#include "chapters/rmsnorm/requests.h"
#include "chapters/rmsnorm/shapes.h"
#include "verdict/session/check.h"

namespace onepass::rmsnorm::forward_fast_checks {
namespace {

using verdict::points;
using verdict::session;
using verdict::todo;

constexpr double kEps = 1e-6;

using Expected = std::vector<Expectation> (*)(const Case&);

std::vector<Expectation> rstd(const Case& call) {
  return {expected_rstd(call)};
}
std::vector<Expectation> y(const Case& call) {
  return {expected_y(call)};
}
std::vector<Expectation> both(const Case& call) {
  return {expected_rstd(call), expected_y(call)};
}

const std::vector<verdict::Oracle>& mistakes() {
  static const std::vector<verdict::Oracle> all = forward_mistakes();
  return all;
}

Case call_of(Matrix x, ForwardLayout layout = {}, double eps = kEps) {
  Matrix weight = random_weight(x.dtype(), x.cols());
  return forward_call(std::move(x), std::move(weight), eps, layout, "rmsnorm_forward_fast");
}

void check(Expected expected, Matrix x, ForwardLayout layout = {}, double eps = kEps) {
  const Case call = call_of(std::move(x), layout, eps);
  session().expect(call, expected(call), mistakes());
}

void check_without_weight(Matrix x) {
  const Case call = forward_call(std::move(x), std::nullopt, kEps, {}, "rmsnorm_forward_fast");
  session().expect(call, both(call), mistakes());
}

/// Small numbers, and in each row a large one: in row r at column columns[r].
Matrix spikes(Dtype dtype, std::int64_t cols, const std::vector<std::int64_t>& columns) {
  Matrix x = random_x(dtype, static_cast<std::int64_t>(columns.size()), cols, 0.0, 0.05);
  for (std::int64_t row = 0; row < x.rows(); ++row) {
    x.set(row, columns[static_cast<std::size_t>(row)], 8.0);
  }
  return x;
}

void check_loaded_once(std::int64_t rows, std::int64_t cols, Dtype dtype, ForwardLayout layout) {
  const Case call = call_of(random_x(dtype, rows, cols), layout);
  if (const auto traffic = session().expect_and_count(call, y(call), mistakes())) {
    require_loaded_once(call, *traffic, "x");
  }
}

void check_packs(std::int64_t rows, std::int64_t cols, Dtype dtype, ForwardLayout layout) {
  const Case call = call_of(random_x(dtype, rows, cols), layout);
  if (const auto traffic = session().expect_and_count(call, y(call), mistakes())) {
    require_packs(call, *traffic, "x", "read");
    require_packs(call, *traffic, "y", "write");
  }
}

/// No rows: legal, and nothing may be written.
void check_zero_rows() {
  Case call("rmsnorm_forward_fast", Dtype::fp16);
  call.integer("rows", 0).integer("cols", 8).integer("x_stride", 8).integer("y_stride", 8);
  call.real("eps", kEps);
  call.input("x", random_x(Dtype::fp16, 1, 8)).input("weight", random_weight(Dtype::fp16, 8));
  call.output("y", Dtype::fp16, 1, 8).output("rstd", Dtype::fp32, 1, 1);
  session().expect_untouched(call, "With rows = 0 there is no row to write, yet {} was.");
}

void check_narrow(Expected expected) {
  for (Dtype dtype : kEveryDtype) {
    check(expected, random_x(dtype, 17, 17));  // square: swapped indices stay inside the tensors
    check(expected, random_x(dtype, 5, 1));
    for (std::int64_t cols : kUpToAWarp) {
      check(expected, random_x(dtype, 2, cols));  // no more rows than columns: weight[row] exists
    }
    for (std::int64_t cols : kUpToABlock) {
      check(expected, random_x(dtype, 3, cols));
    }
  }
}

void check_held(Expected expected) {
  for (Dtype dtype : kEveryDtype) {
    for (std::int64_t cols : kWide) {
      check(expected, random_x(dtype, 2, cols));
    }
  }
  check(expected, random_x(Dtype::fp32, 1, 4096));
  check(expected, random_x(Dtype::bf16, 1, 4097));  // odd
  check(expected, random_x(Dtype::fp16, 1, 9216));  // 9 * 1024
  check(expected, random_x(Dtype::fp32, 1, 16384));
  check(expected, random_x(Dtype::fp16, 1, 16383));
}

TEST_SUITE("rmsnorm/forward_fast") {
  // ---- TODO 1: rstd ----

  TEST_CASE("1 to 257 columns: rstd of narrow rows" * points(2) * todo(1)) {
    check_narrow(rstd);
    for (double eps : {0.0, 1e-5, 0.25}) {
      check(rstd, random_x(Dtype::fp32, 3, 300, 0.0, eps == 0.0 ? 0.01 : 0.3), {}, eps);
    }
  }

  TEST_CASE("769 to 16,384 columns: rstd of rows that the registers of a block hold" * points(2) *
            todo(1)) {
    check_held(rstd);
  }

  TEST_CASE("one large number in a row of small ones: its square counts wherever it is" *
            points(1) * todo(1)) {
    for (std::int64_t cols : {63, 257, 1000, 4097}) {
      check(rstd, spikes(Dtype::fp32, cols, boundary_columns(cols)));
    }
    check(rstd, spikes(Dtype::fp16, 1008, boundary_columns(1008)));
  }

  // ---- TODO 2: y ----

  TEST_CASE("1 to 257 columns: y of narrow rows" * points(2) * todo(2)) {
    check_narrow(y);
  }

  TEST_CASE("769 to 16,384 columns: y of rows that the registers of a block hold" * points(2) *
            todo(2)) {
    check_held(y);
  }

  TEST_CASE("fp16 and bf16: y is rounded once, at the very end" * points(1) * todo(2)) {
    for (Dtype dtype : kSixteenBit) {
      check(y, random_x(dtype, 4, 1000));
      check(y, random_x(dtype, 3, 200, 100.0));
      check(y, random_x(dtype, 3, 72, 300.0, 10.0));
    }
  }

  TEST_CASE("up to 16,384 columns each element of x is loaded once" * points(2) * todo(2)) {
    for (Dtype dtype : kEveryDtype) {
      check_loaded_once(5, 64, dtype, {});
      check_loaded_once(2, 1001, dtype, {});                          // odd
      check_loaded_once(2, 1000, dtype, {{1024, 1}, {}, {1024, 0}});  // one element past 16 bytes
    }
    check_loaded_once(1, 16384, Dtype::fp32, {});
    check_loaded_once(1, 16384, Dtype::bf16, {});
  }

  TEST_CASE("without weights y is x times rstd" * points(1) * todo(2)) {
    for (Dtype dtype : kEveryDtype) {
      check_without_weight(random_x(dtype, 3, 64));
      check_without_weight(random_x(dtype, 2, 1001));
    }
  }

  TEST_CASE("rows apart, also beyond 2^31 elements" * points(1) * todo(2)) {
    for (Dtype dtype : kEveryDtype) {
      check(y, random_x(dtype, 5, 256), {{320, 0}, {}, {288, 0}});
      check(y, random_x(dtype, 3, 1000), {{1007, 0}, {}, {1024, 0}});
    }
    const Layout far_apart = {(std::int64_t{1} << 30) + 8, 0};
    check(y, random_x(Dtype::fp16, 3, 64), {far_apart, {}, {}});
    check(y, random_x(Dtype::fp16, 3, 64), {{}, {}, far_apart});
  }

  TEST_CASE("no rows, one row, and numbers of rows that no block size divides" * points(1) *
            todo(2)) {
    for (std::int64_t rows : {1, 3, 7, 31}) {
      check(both, random_x(Dtype::fp32, rows, 32));
      check(both, random_x(Dtype::bf16, rows, 200));
    }
    check_zero_rows();
    check(both, random_x(Dtype::fp16, 1031, 3));
    if (session().device() == "gpu") {
      check(both, random_x(Dtype::fp16, 65537, 8));  // more than a grid's y and z can have
    }
  }

  TEST_CASE("shapes drawn at random" * points(1) * todo(2)) {
    for (std::uint64_t number = 0; number < 6; ++number) {
      const DrawnShape shape = drawn_shape(number);
      check(both, random_x(shape.dtype, shape.rows, shape.cols), {shape.x, {}, shape.y});
    }
  }

  // ---- TODO 3: packs of 16 bytes ----

  TEST_CASE("aligned rows: x is loaded and y is stored 16 bytes at a time" * points(3) * todo(3)) {
    for (Dtype dtype : kEveryDtype) {
      check_packs(3, 64, dtype, {});
      check_packs(2, 1000, dtype, {{1024, 0}, {}, {1008, 0}});
      check_packs(1, 4096, dtype, {{4096, 8}, {0, 8}, {4096, 16}});  // 8 elements: 16 or 32 bytes
    }
  }

  TEST_CASE("one tensor, base or stride is not aligned: still right" * points(2) * todo(3)) {
    for (Dtype dtype : kEveryDtype) {
      const Layout dense = {256, 0};
      const Layout base = {256, 1};                             // one element past the boundary
      const Layout stride = {257, 0};                           // only the first row is on one
      const Layout half = {256, dtype == Dtype::fp32 ? 2 : 4};  // 8 bytes past
      for (const Layout& odd : {base, stride, half}) {
        check(both, random_x(dtype, 3, 256), {odd, {}, dense});
        check(both, random_x(dtype, 3, 256), {dense, {}, odd});
      }
      check(both, random_x(dtype, 3, 256), {dense, {0, 1}, dense});
      check(both, random_x(dtype, 3, 250),
            {dense, {}, dense});  // a row is no whole number of packs
      check(both, random_x(dtype, 2, 4099), {{4112, 0}, {}, {4104, 3}});
    }
  }

  // ---- TODO 4: wide rows ----

  TEST_CASE("20,000 to 262,144 columns" * points(2) * todo(4)) {
    check(both, random_x(Dtype::bf16, 2, 20000));
    check(both, random_x(Dtype::fp32, 1, 32769));  // odd
    check(both, random_x(Dtype::fp16, 1, 65536));
    check(both, random_x(Dtype::fp16, 1, 131079));  // odd
    check(both, random_x(Dtype::fp16, 1, 262144));
    check(rstd, spikes(Dtype::fp16, 40000, {0, 32767, 32768, 39999}));
  }

  TEST_CASE("wide rows, apart and at any address" * points(1) * todo(4)) {
    for (Dtype dtype : kEveryDtype) {
      check(both, random_x(dtype, 2, 33000), {{33008, 1}, {}, {33024, 0}});
      check_without_weight(random_x(dtype, 1, 33000));
    }
  }

  TEST_CASE("called again, on other numbers or the same, it is right again" * points(1) * todo(4)) {
    for (int repeat = 0; repeat < 3; ++repeat) {
      check(both, random_x(Dtype::fp32, 9, 100));
      check(both, random_x(Dtype::bf16, 2 + repeat, 1000));
      check(both, random_x(Dtype::fp16, 1, 33000));
    }
  }
}

}  // namespace
}  // namespace onepass::rmsnorm::forward_fast_checks
