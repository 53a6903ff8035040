// Comparison: NaN is wrong, poison is seen, the worst element and the pattern are named.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

#include "verdict/compare.h"
#include "verdict/measure/statistics.h"
#include "verdict/pattern.h"

using namespace onepass::verdict;

namespace {

const double kInfinity = std::numeric_limits<double>::infinity();

Comparison compare_one(Dtype dtype, double got, double value, double bound) {
  Matrix matrix(dtype, 1, 1);
  matrix.set(0, 0, got);
  return compare(matrix, Field(1, 1, value), Field(1, 1, bound), std::nullopt);
}

std::string pattern(std::int64_t rows, std::int64_t cols,
                    bool (*wrong)(std::int64_t, std::int64_t)) {
  Mask mask(rows, cols);
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t col = 0; col < cols; ++col) {
      mask(row, col) = wrong(row, col) ? 1 : 0;
    }
  }
  return describe(mask).text;
}

}  // namespace

TEST_CASE("an element is right within its bound, and NaN never") {
  CHECK(compare_one(Dtype::fp32, 1.5, 1.0, 0.5).right());
  CHECK_FALSE(compare_one(Dtype::fp32, 1.75, 1.0, 0.5).right());
  CHECK_FALSE(compare_one(Dtype::fp32, std::nan(""), 1.0, 1e30).right());
  CHECK_FALSE(compare_one(Dtype::fp32, kInfinity, 1.0, 1e30).right());
  CHECK(compare_one(Dtype::fp16, kInfinity, 1e6, 1.0).right());
  CHECK_FALSE(compare_one(Dtype::fp16, -kInfinity, 1e6, 1.0).right());
}

TEST_CASE("where the reference is infinite or NaN, either is right, and no number") {
  for (double reference : {std::nan(""), kInfinity}) {
    CHECK(compare_one(Dtype::fp32, std::nan(""), reference, std::nan("")).right());
    CHECK(compare_one(Dtype::fp32, -kInfinity, reference, 1.0).right());
    CHECK_FALSE(compare_one(Dtype::fp32, 1.0, reference, 1.0).right());
  }
  CHECK(compare_one(Dtype::fp32, 1.0, std::nan(""), kInfinity).right());  // left open
  const Matrix untouched(Dtype::fp32, 1, 1, std::vector<std::byte>(4, std::byte{0xFF}));
  const Field nan(1, 1, std::nan(""));
  CHECK(compare(untouched, nan, nan, Poison::nan).untouched());
}

TEST_CASE("a reference that is NaN of inputs that are not is a fault of the check") {
  const Outputs outputs = {[](const Case&) {
    return Expectation{"y", Field(1, 1, std::nan("")), Field(1, 1, 1.0)};
  }};
  Case call("f", Dtype::fp32);
  call.add({.name = "x", .rows = 1, .cols = 1, .values = Matrix(Dtype::fp32, 1, 1)});
  CHECK_THROWS_AS(expectations(outputs, call), std::logic_error);
  CHECK_THROWS_AS(compare_one(Dtype::fp32, 1.0, 1.0, std::nan("")), std::logic_error);
  CHECK_THROWS_AS(compare(Matrix(Dtype::fp32, 1, 2), Field(2, 1), Field(2, 1), std::nullopt),
                  std::logic_error);
}

TEST_CASE("the worst element is the one most bounds away") {
  Matrix got(Dtype::fp32, 2, 2);
  Field bound(2, 2, 1.0);
  got.set(0, 1, 3.0);
  got.set(1, 0, 2.0);
  bound(1, 0) = 0.1;
  const Comparison result = compare(got, Field(2, 2), bound, std::nullopt);
  CHECK(result.wrong == 2);
  CHECK(result.worst.row == 1);
  CHECK(result.worst.col == 0);
  CHECK(result.error_over_bound == doctest::Approx(20.0));
}

TEST_CASE("elements that still hold the poison are unwritten, unless the poison is right") {
  for (const Poison poison : {Poison::nan, Poison::finite}) {
    Matrix got(Dtype::fp16, 1, 2, std::vector<std::byte>(4, static_cast<std::byte>(poison)));
    const Field one(1, 2, 1.0);
    CHECK(compare(got, one, one, poison).untouched());
    got.set(0, 0, 1.0);
    const Comparison partly = compare(got, one, one, poison);
    CHECK(partly.unwritten == 1);
    CHECK(partly.first_unwritten->col == 1);
    CHECK_FALSE(partly.untouched());
  }
  const Matrix lucky(Dtype::fp16, 1, 1, std::vector<std::byte>(2, std::byte{0x5A}));
  CHECK(compare(lucky, lucky.field(), Field(1, 1, 0.1), Poison::finite).unwritten == 0);
}

TEST_CASE("a changed input is found bit for bit") {
  Matrix before(Dtype::fp32, 3, 4);
  Matrix after = before;
  CHECK_FALSE(first_change(before, after));
  after.set(1, 2, -0.0);
  const auto change = first_change(before, after);
  REQUIRE(change);
  CHECK(change->index.row == 1);
  CHECK(change->index.col == 2);
  CHECK(element_name("x", after, change->index) == "x[1][2]");
}

TEST_CASE("two numbers that differ are shown with as many digits as tell them apart") {
  CHECK(show(0.5, 0.25) == "0.5");
  CHECK(show(1.0 / 3.0, 1.0 / 3.0) == "0.3333333");
  CHECK(show(1.0 / 3.0, 0.25) == "0.3333333");
  const float last = 20.83456f;
  const float next = std::nextafter(last, 21.0f);  // 7 digits do not tell them apart
  CHECK(show(last, next) == "20.8345604");
  CHECK(show(next, last) == "20.8345623");
  CHECK(show(0.25, 0.25 + 0x1p-52) != show(0.25 + 0x1p-52, 0.25));
  CHECK(show(std::nan(""), 1.0) == "nan");
  CHECK(show(1.0, std::nan("")) == "1");
}

TEST_CASE("patterns are put into words") {
  CHECK(pattern(3, 1000, [](auto, auto) { return true; }) == "every element");
  CHECK(pattern(3, 1000, [](auto, auto c) { return c >= 256; }) ==
        "columns 256 to 999 of every row");
  CHECK(pattern(3, 4, [](auto r, auto) { return r > 0; }) == "every row but the first");
  CHECK(pattern(7, 4, [](auto r, auto) { return r >= 4; }) == "rows 4 to 6");
  CHECK(pattern(7, 4, [](auto r, auto) { return r == 6; }) == "row 6");
  CHECK(pattern(3, 100, [](auto, auto c) { return c % 32 != 0; }) ==
        "every column but 0, 32, 64, ... of every row");
  CHECK(pattern(3, 600, [](auto, auto c) { return c % 256 >= 32; }) ==
        "every column but 0 to 31, 256 to 287, ... of every row");
  CHECK(pattern(3, 100, [](auto, auto c) { return c > 0; }) ==
        "every column but the first of every row");
  CHECK(pattern(1, 9, [](auto, auto c) { return c == 8; }) == "column 8");
  CHECK(pattern(9, 1, [](auto r, auto) { return r >= 5; }) == "rows 5 to 8");
  CHECK(pattern(3, 3, [](auto r, auto c) { return r == c; }) == "3 of 9 elements, in every row");
  CHECK(pattern(3, 3, [](auto, auto) { return false; }).empty());
}

TEST_CASE("the median's error shrinks with the number of samples") {
  std::vector<double> samples;
  for (int i = 0; i < 100; ++i) {
    samples.push_back(1.0 + 0.01 * (i % 11));
  }
  const Statistics all = statistics_of(samples);
  CHECK(all.median == doctest::Approx(1.05));
  CHECK(all.p20 < all.median);
  CHECK(all.relative_error < statistics_of({samples.begin(), samples.begin() + 22}).relative_error);
  CHECK(std::isinf(statistics_of({1.0}).relative_error));
}
