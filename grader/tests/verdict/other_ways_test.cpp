// The other ways to make a call, and a row of many that counts otherwise than once.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "verdict/contract/call.h"
#include "verdict/session/dependence.h"

using namespace onepass::verdict;

namespace {

const contract::Function kWays = {
    "norm",
    {{"rows", 0}, {"cols", 1, 100}},
    {{"x", Role::input, "rows", "cols", {.strided = true}},
     {"weight", Role::input, 1, "cols", {.optional = true}},
     {"y", Role::output, "rows", "cols", {.strided = true, .over = "x"}}},
    {{"eps", 1e-6}, {"order", std::int64_t{0}}}};

const contract::Function kColumnSums = {
    "sums",
    {{"rows", 0}, {"cols", 1, 100}},
    {{"dy", Role::input, "rows", "cols"},
     {"dbias", Role::output, 1, "cols", {.dtype = Dtype::fp32}}}};

double number_at(std::int64_t row, std::int64_t col) {
  return 0.25 + 0.01 * static_cast<double>((7 * row + 3 * col) % 40);
}

std::vector<std::string> ways_in_words(const std::vector<Case>& calls) {
  std::vector<std::string> all;
  for (const Case& call : calls) {
    all.push_back(call.describe());
  }
  return all;
}

/// The sum over all rows, each of which counts so often.
template <typename Times>
Field column_sums(const Case& call, Times times) {
  const Matrix& dy = call.values("dy");
  return field_of(1, dy.cols(), [&](std::int64_t, std::int64_t col) {
    double sum = 0.0;
    for (std::int64_t row = 0; row < dy.rows(); ++row) {
      sum += times(row) * dy.get(row, col);
    }
    return sum;
  });
}

template <typename Times>
std::string reason_of(Times times) {
  const Case call =
      contract::call(kColumnSums, {.values = {{"dy", matrix_of(Dtype::fp32, 1000, 3, number_at)}}});
  const auto once = [](std::int64_t) { return 1.0; };
  return miscounted_elements(
             call,
             [&](const Case& other) {
               return Expectation{"dbias", column_sums(other, once), Field(1, 3, 1e-3)};
             },
             [&](const Case& other) {
               return std::optional(
                   Answer{{{"dbias", Matrix::rounded(Dtype::fp32, column_sums(other, times))}},
                          Poison::nan});
             })
      .value_or("");
}

}  // namespace

TEST_CASE("what is promised of a call's traffic is promised with each choice, null and address") {
  const Matrix x = matrix_of(Dtype::fp16, 2, 8, number_at);
  const Matrix weight = matrix_of(Dtype::fp16, 1, 8, number_at);
  const Case call = contract::call(kWays, {.values = {{"x", x}, {"weight", weight}}});
  const std::string plain = "fp16, rows 2, cols 8, x_stride 8, y_stride 8, eps 1e-06";
  const std::vector<std::string> aligned = {plain + ", order 1", plain + ", order 0, weight null"};
  CHECK(ways_in_words(contract::other_ways(call, false)) == aligned);
  const std::string off = " 2 bytes past a multiple of 16";
  const std::vector<std::string> all = {aligned[0], plain + ", order 0, x" + off, aligned[1],
                                        plain + ", order 0, weight" + off,
                                        plain + ", order 0, y" + off};
  CHECK(ways_in_words(contract::other_ways(call, true)) == all);

  contract::Arrangement in_place;
  in_place.over = {"y"};
  const Case over = contract::call(kWays, {.values = {{"x", x}}}, in_place);
  CHECK(contract::other_ways(over, true).size() == 2);  // the choice, and x off
}

TEST_CASE("a row among many that counts twice, or not at all, is found") {
  CHECK(reason_of([](std::int64_t row) { return row == 333 ? 2.0 : 1.0; }) ==
        "What dy holds in row 333 enters dbias more than once.");
  CHECK(reason_of([](std::int64_t row) { return row == 333 ? 0.0 : 1.0; }) ==
        "What dy holds in row 333 does not enter dbias: with other numbers there the same comes "
        "out.");
  CHECK(reason_of([](std::int64_t row) { return row == 333 ? 1.4 : 1.0; }) ==
        "");  // it is something else
  CHECK(reason_of([](std::int64_t row) { return row == 333 ? 1.04 : 1.0; }) == "");
  CHECK(reason_of([](std::int64_t row) { return row == 333 ? -1.0 : 1.0; }) == "");  // taken off
  CHECK(reason_of([](std::int64_t) { return 1.0; }) == "");
}
