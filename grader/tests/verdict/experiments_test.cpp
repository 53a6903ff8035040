// Which mistakes are left after further calls. The student's function is stood in for by formulas
// on x, which the oracles are made of too.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "verdict/contract/call.h"
#include "verdict/session/boundary.h"
#include "verdict/session/dependence.h"
#include "verdict/session/experiments.h"

using namespace onepass::verdict;

namespace {

const contract::Function kSum = {"sum",
                                 {{"rows", 0}, {"cols", 1, 65'536}},
                                 {{"x", Role::input, "rows", "cols"},
                                  {"sums", Role::output, "rows", 1, {.dtype = Dtype::fp32}}}};

constexpr double kBoundOfSums = 1e-2;  // of sums of some hundred, whose last digit is 3e-5

/// The sum of the elements of each row that count.
using Counts = bool (*)(std::int64_t col, std::int64_t cols);
Field sums_of(const Case& call, Counts counts) {
  const Matrix x = call.values("x");
  return field_of(x.rows(), 1, [&](std::int64_t row, std::int64_t) {
    double sum = 0.0;
    for (std::int64_t col = 0; col < x.cols(); ++col) {
      sum += counts(col, x.cols()) ? x.get(row, col) : 0.0;
    }
    return sum;
  });
}

bool all(std::int64_t, std::int64_t) {
  return true;
}
bool one_block(std::int64_t col, std::int64_t) {
  return col < 64;
}
bool whole_blocks(std::int64_t col, std::int64_t cols) {
  return col < cols / 64 * 64;
}
bool every_fourth(std::int64_t col, std::int64_t) {
  return col % 4 == 0;
}
bool but_the_last(std::int64_t col, std::int64_t cols) {
  return col < cols - 1;
}

Expectation expected(const Case& call) {
  return {"sums", sums_of(call, all), Field(call.integer("rows"), 1, kBoundOfSums)};
}

Oracle oracle(const std::string& mistake, Counts counts) {
  return {mistake, "It is " + mistake + ".",
          [counts](const Case& call, const std::string&, const WrongRows&) {
            return std::optional(sums_of(call, counts));
          }};
}

/// The same, so many bounds beside it.
Oracle beside(const Oracle& right, const std::string& sentence, double bounds) {
  return {right.mistake, sentence,
          [right, bounds](const Case& call, const std::string& output, const WrongRows& wrong) {
            Field sums = *right.result(call, output, wrong);
            for (double& sum : sums.values) {
              sum += bounds * kBoundOfSums;
            }
            return std::optional(sums);
          }};
}

/// What is found where the function sums up what counts, and how many further calls that took.
struct Found {
  std::string names;
  std::string sentence;  // of the first
  bool confirmed = false;
  int calls = 0;
};
double usual(std::int64_t row, std::int64_t col) {
  return 1.0 + static_cast<double>((row + 5 * col) % 7);
}
Found find(std::int64_t cols, const std::function<Counts(const Case&)>& function,
           std::vector<Oracle> oracles, bool again = true, decltype(&usual) element = usual) {
  const auto answer_of = [&](const Case& call) {
    const Field sums = sums_of(call, function(call));
    return Answer{{{"sums", Matrix::rounded(Dtype::fp32, sums)}}, Poison::nan};
  };
  const Case call =
      contract::call(kSum, {.values = {{"x", matrix_of(Dtype::fp32, 3, cols, element)}}});
  const Answer answer = answer_of(call);
  const Expectation right = expected(call);
  const Comparison comparison = compare(answer["sums"], right.value, right.bound, std::nullopt);
  Found found;
  const Causes causes =
      find_causes({call, answer, right, comparison}, expected, oracles, [&](const Case& other) {
        ++found.calls;
        return again ? std::optional(answer_of(other)) : std::nullopt;
      });
  for (const Diagnosis& one : causes.mistakes) {
    found.sentence = found.names.empty() ? one.sentence : found.sentence;
    found.names += (found.names.empty() ? "" : ", ") + one.mistake.value();
  }
  found.confirmed = causes.confirmed;
  return found;
}

Found find(std::int64_t cols, Counts function, std::vector<Oracle> oracles, bool again = true) {
  return find(
      cols, [function](const Case&) { return function; }, std::move(oracles), again);
}

const Oracle kOneBlock = oracle("no-stride-loop", one_block);
const Oracle kWholeBlocks = oracle("tail-dropped", whole_blocks);

}  // namespace

TEST_CASE("what two mistakes explain in one shape is told apart by another") {
  // Of 100 columns both leave out the last 36.
  CHECK(find(100, one_block, {kWholeBlocks, kOneBlock}).names == "no-stride-loop");
  CHECK(find(100, whole_blocks, {kOneBlock, kWholeBlocks}).names == "tail-dropped");
}

TEST_CASE("one suspect is asked about each shape much like the first, and none takes no call") {
  const Found one = find(100, one_block, {kOneBlock});
  CHECK(one.names == "no-stride-loop");
  CHECK(one.confirmed);
  CHECK(one.calls == 3);
  const Found none = find(100, but_the_last, {kOneBlock, kWholeBlocks});
  CHECK(none.names == "");
  CHECK(none.calls == 0);
}

TEST_CASE(
    "lanes that are lost are lost at any address and in any type; elements of vectors are not") {
  Oracle lanes = oracle("shuffle-step-missing", every_fourth);
  lanes.everywhere = true;
  Oracle vectors = oracle("vector-partly-used", every_fourth);
  vectors.noise.harmless = unaligned;
  const std::vector<Oracle> both = {lanes, vectors};
  const auto is_aligned = [](const Case& call) { return call.buffer("x").layout.offset == 0; };
  CHECK(find(100, every_fourth, both).names == "shuffle-step-missing");
  CHECK(find(
            100, [&](const Case& call) { return is_aligned(call) ? every_fourth : all; }, both)
            .names == "vector-partly-used");
  CHECK(find(
            100, [&](const Case& call) { return call.dtype() == Dtype::fp32 ? every_fourth : all; },
            both)
            .names == "");
}

TEST_CASE("of many columns one part comes to as much as another, and is not taken for it") {
  const Counts first_half = [](std::int64_t col, std::int64_t cols) { return 2 * col < cols; };
  const Counts last_half = [](std::int64_t col, std::int64_t cols) { return 2 * col >= cols; };
  const auto constant = [](std::int64_t row, std::int64_t) {
    return 1.0 + static_cast<double>(row);
  };
  const auto find_one = [&](const char* mistake, Counts counts) {
    return find(
               8192, [&](const Case&) { return first_half; }, {oracle(mistake, counts)}, true,
               constant)
        .names;
  };
  CHECK(find_one("first-half", first_half) == "first-half");
  CHECK(find_one("last-half", last_half) == "");
}

TEST_CASE("where a mistake leaves its trace, the call must be wrong, however much is changed") {
  Oracle vectors = oracle("vector-partly-used", every_fourth);
  vectors.noise.harmless = unaligned;
  vectors.noise.control = [](const Case& call) { return contract::in_dtype(call, Dtype::bf16); };
  const auto where = [&](bool in_bf16) {
    return [in_bf16](const Case& call) {
      const bool is_aligned = call.buffer("x").layout.offset == 0;
      return is_aligned && (in_bf16 || call.dtype() == Dtype::fp32) ? every_fourth : all;
    };
  };
  CHECK(find(100, where(true), {vectors}).names == "vector-partly-used");
  CHECK(find(100, where(false), {vectors}).names == "");
}

TEST_CASE("mistakes that always give the same stay together") {
  const Found found = find(100, one_block, {kOneBlock, oracle("other-name", one_block)});
  CHECK(found.names == "no-stride-loop, other-name");
  CHECK_FALSE(found.confirmed);  // not which of them it is
}

TEST_CASE("of ways to make a mistake that fit equally well the first is told") {
  // The second is nearer, by what the noise of another order of additions may be in a few calls.
  const Oracle first = beside(kOneBlock, "The first way.", 0.03);
  const Oracle second = beside(kOneBlock, "The second way.", 0.0);
  CHECK(find(100, one_block, {first, second}).sentence == "The first way.");
  CHECK(find(100, one_block, {second, first}).sentence == "The second way.");
  const Oracle farther = beside(kOneBlock, "A way that fits less well.", 0.6);
  CHECK(find(100, one_block, {farther, second}).sentence == "The second way.");
}

TEST_CASE("who comes near much is named only if a call in which it leaves no trace is right") {
  Oracle noisy = beside(oracle("noise", all), "It is noise.", 2.0);
  noisy.noise = {1e9, [](const Case& call) {
                   return contract::resized(call, {{"cols", 64}}, std::int64_t{1} << 16);
                 }};
  CHECK(find(100, one_block, {noisy}).names == "noise");
  CHECK(find(100, but_the_last, {noisy}).names == "");
}

TEST_CASE("from which size on a call goes wrong is told by two calls of sizes side by side") {
  const Case call =
      contract::call(kSum, {.values = {{"x", matrix_of(Dtype::fp32, 6, 1000, usual)}}});
  const auto where_right = [&](const std::function<std::optional<bool>(const Case&)>& is_right) {
    const std::optional<Boundary> found = find_boundary(call, is_right);
    return found ? found->sentence() : "";
  };
  CHECK(where_right([](const Case& other) { return other.integer("cols") <= 300; }) ==
        "With cols = 296 the same call is right, with cols = 304 it is not.");
  CHECK(where_right([](const Case& other) { return other.integer("rows") < 4; }) ==
        "With rows = 3 the same call is right, with rows = 4 it is not.");
  CHECK(where_right([](const Case&) { return false; }) == "");
  CHECK(where_right([](const Case&) { return true; }) == "");
  // Where that is one row more than the blocks have together, it is told.
  const std::optional<Boundary> rows = find_boundary(
      contract::call(kSum, {.values = {{"x", matrix_of(Dtype::fp32, 200, 8, usual)}}}),
      [](const Case& other) { return other.integer("rows") <= 64; });
  REQUIRE(rows);
  CHECK(rows->in_blocks({48, 32}) ==
        "A launch of it has 32 blocks: from there on one has more than 2 of the rows.");
  CHECK(rows->in_blocks({48, 128, 1}).empty());
  // Who is right here and there has no such size; nor has who takes too long.
  CHECK(where_right([](const Case& other) { return other.integer("cols") / 8 % 2 == 1; }) == "");
  CHECK(where_right([](const Case& other) {
          return other.integer("cols") == 600 ? std::nullopt
                                              : std::optional(other.integer("cols") < 700);
        }) == "With cols = 696 the same call is right, with cols = 704 it is not.");
  CHECK(where_right([](const Case& other) {
          return other.integer("cols") > 500 ? std::nullopt : std::optional(true);
        }) == "");
}

TEST_CASE("without another call that comes to its end nothing is confirmed") {
  const Found found = find(100, one_block, {kOneBlock}, false);
  CHECK(found.names == "no-stride-loop");
  CHECK_FALSE(found.confirmed);
}

TEST_CASE("lanes of a warp race, and in a wider call two warps: they lack a barrier") {
  const Case call = contract::call(kSum, {.values = {{"x", Matrix(Dtype::fp32, 1, 1)}}});
  Finding race;
  race.kind = Kind::shared_race;
  race.missing = Missing::syncwarp;
  race.parties = {{"reads 4 bytes", "f.cu", 9, {}, {}}, {"writes 4 bytes", "f.cu", 7, {}, {}}};
  const auto is_wider = [&](std::int64_t block, int line) {
    return reaches_other_warps(call, race, [&](const Case& other) {
      Finding found = race;
      std::swap(found.parties[0], found.parties[1]);
      found.parties[0].line = line;
      found.missing = other.integer("cols") > block ? Missing::barrier : Missing::syncwarp;
      return std::vector{found};
    });
  };
  CHECK(is_wider(32, 7));
  CHECK_FALSE(is_wider(1'000'000, 7));
  CHECK_FALSE(is_wider(32, 8));  // another race
}

TEST_CASE("a call in another shape keeps its values, strides and scalars") {
  const contract::Function scaled = {"scaled",
                                     {{"rows", 0}, {"cols", 1, 100}},
                                     {{"x", Role::input, "rows", "cols", {.strided = true}},
                                      {"weight", Role::input, 1, "cols", {.optional = true}},
                                      {"y", Role::output, "rows", "cols", {.strided = true}}},
                                     {{"eps", 1e-6}}};
  const Matrix x = matrix_of(Dtype::fp16, 2, 3, [](auto row, auto col) { return 10 * row + col; });
  const Case call = contract::call(scaled, {.values = {{"x", x}}, .scalars = {{"eps", 0.25}}},
                                   {{"x", {.gap = 7, .offset = 1}}, {"y", {.gap = 5}}});
  const Case other = contract::resized(call, {{"rows", 3}, {"cols", 5}}, 1000).value();
  CHECK(other.describe() ==
        "fp16, rows 3, cols 5, x_stride 12, y_stride 16, eps 0.25, weight null, "
        "x 2 bytes past a multiple of 16");
  CHECK(other.buffer("x").layout.offset == 1);
  CHECK(other.buffer("weight").null);
  CHECK(other.values("x").get(2, 4) == 1.0);  // row 0, column 1
  CHECK_FALSE(contract::resized(call, {{"cols", 99}}, 100));
}

TEST_CASE("elements that do not count are told by their place, unless all or none of them are") {
  const auto lost = [](std::int64_t rows, std::int64_t cols, Counts counts, double times = 1.0) {
    const Case call =
        contract::call(kSum, {.values = {{"x", matrix_of(Dtype::fp32, rows, cols, usual)}}});
    return miscounted_elements(call, expected,
                               [&](const Case& other) {
                                 Field sums = sums_of(other, counts);
                                 for (double& sum : sums.values) {
                                   sum *= times;
                                 }
                                 return std::optional(Answer{
                                     {{"sums", Matrix::rounded(Dtype::fp32, sums)}}, Poison::nan});
                               })
        .value_or("");
  };
  CHECK(lost(3, 100, but_the_last) ==
        "What x holds in column 99 does not enter sums: with other numbers there the same comes "
        "out.");
  CHECK(lost(3, 9, every_fourth).find("in columns 1, 2, 3, 5, 6, 7 does") != std::string::npos);
  CHECK(lost(3, 100, one_block).find("columns 64 to 99 of every row") != std::string::npos);
  CHECK(lost(1, 100, but_the_last).find("99") != std::string::npos);
  CHECK(lost(3, 100, all, 2.0) == "");  // wrong, but all alike
  CHECK(lost(3, 100, [](std::int64_t, std::int64_t) { return false; }) == "");
  CHECK(
      lost(3, 1000, one_block).find("that were tried) does not enter sums: with another number") !=
      std::string::npos);
  CHECK(lost(3, 1000, but_the_last).find("column 999 (one of 3 of 384 that") != std::string::npos);
  CHECK(lost(3, 60'000, one_block) == "");  // it would take too long

  const Case call = contract::call(kSum, {.values = {{"x", matrix_of(Dtype::fp32, 3, 9, usual)}}});
  const auto with_more_of_two = [&](double of_first, double of_second) {
    return miscounted_elements(call, expected, [=](const Case& other) {
      Field sums = sums_of(other, all);
      for (std::int64_t row = 0; row < sums.rows; ++row) {
        const Matrix x = other.values("x");
        sums(row, 0) += of_first * x.get(row, 0) + of_second * x.get(row, 1);
      }
      return std::optional(Answer{{{"sums", Matrix::rounded(Dtype::fp32, sums)}}, Poison::nan});
    });
  };
  CHECK(with_more_of_two(1.0, 0.0) == "What x holds in column 0 enters sums more than once.");
  CHECK_FALSE(with_more_of_two(1.0, 0.25));  // it is something else

  const auto cut_off_in = [&](std::int64_t col) {  // at what it is, if that is not below 0
    return miscounted_elements(call, expected, [=, &call](const Case& other) {
      Field sums = sums_of(other, all);
      for (std::int64_t row = 0; row < sums.rows; ++row) {
        const double most = std::abs(call.values("x").get(row, col));
        sums(row, 0) += std::min(0.0, most - other.values("x").get(row, col));
      }
      return std::optional(Answer{{{"sums", Matrix::rounded(Dtype::fp32, sums)}}, Poison::nan});
    });
  };
  CHECK_FALSE(cut_off_in(0));  // smaller numbers enter
}

TEST_CASE("an input that does not enter at all is told; one that need not show is not") {
  const auto unused = [](std::int64_t cols, Counts counts, double number) {
    const Matrix x = matrix_of(Dtype::fp32, 3, cols,
                               [=](auto row, auto col) { return number * usual(row, col); });
    return unused_inputs(contract::call(kSum, {.values = {{"x", x}}}), expected,
                         [&](const Case& other) {
                           return std::optional(Answer{
                               {{"sums", Matrix::rounded(Dtype::fp32, sums_of(other, counts))}},
                               Poison::nan});
                         })
        .value_or("");
  };
  const Counts none = [](std::int64_t, std::int64_t) { return false; };
  CHECK(unused(9, none, 1.0) ==
        "What x holds does not enter sums: with other numbers there the same comes out.");
  CHECK(unused(9, none, 0.0) == "");
  CHECK(unused(9, but_the_last, 1.0) == "");
  CHECK(unused(9, all, 1.0) == "");
}

TEST_CASE("a row that enters another row's result is told") {
  const Case call = contract::call(kSum, {.values = {{"x", matrix_of(Dtype::fp32, 5, 9, usual)}}});
  const auto plus_row = [&](std::int64_t apart) {
    return foreign_rows(call, expected, [apart](const Case& other) {
      const Field right = sums_of(other, all);
      Field sums = right;
      for (std::int64_t row = 0; apart > 0 && row + apart < sums.rows; ++row) {
        sums(row, 0) += right(row + apart, 0);
      }
      return std::optional(Answer{{{"sums", Matrix::rounded(Dtype::fp32, sums)}}, Poison::nan});
    });
  };
  CHECK(plus_row(2) ==
        "What x holds in row 2 enters row 0 of sums, which should not depend on it.");
  CHECK_FALSE(plus_row(0));
}
