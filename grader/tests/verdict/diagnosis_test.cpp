// Which mistake is named, and that none is named without reason.
#include <doctest/doctest.h>

#include "verdict/contract/call.h"
#include "verdict/diagnosis.h"
#include "verdict/measure/explain_line.h"
#include "verdict/worker/finding.h"

using namespace onepass::verdict;

namespace {

constexpr std::int64_t kRows = 3;
constexpr std::int64_t kCols = 1000;

/// An oracle whose result is `factor` everywhere; the right result is 1 everywhere.
Oracle constant(const std::string& mistake, double factor) {
  return {mistake, "It is " + mistake + ".",
          [factor](const Case&, const std::string&, const WrongRows&) {
            return std::optional(Field(kRows, kCols, factor));
          }};
}

const contract::Function kRowNorm = {"norm",
                                     {{"rows"}, {"cols"}},
                                     {{"y", Role::output, "rows", "cols"},
                                      {"rstd", Role::output, "rows", 1},
                                      {"dweight", Role::output, 1, "cols"}}};
const Case kCall =
    contract::call(kRowNorm, Dtype::fp32, {.sizes = {{"rows", kRows}, {"cols", kCols}}});
const Field kValue(kRows, kCols, 1.0);
const Field kBound(kRows, kCols, 1e-6);

/// What is named where the output is `factor` everywhere.
std::string named(double factor, const std::vector<Oracle>& oracles) {
  const Matrix got = Matrix::rounded(Dtype::fp32, Field(kRows, kCols, factor));
  std::string names;
  for (const Diagnosis& one :
       nearest(that_explain(kCall, {"y", kValue, kBound}, got, {oracles.begin(), oracles.end()}))) {
    names += (names.empty() ? "" : ", ") + one.mistake.value();
  }
  return names;
}

const std::function<bool()> kIsLeftOver = [] { return true; };

/// The diagnosis of an output that holds poison from `first_row` and `first_col` on, and is right
/// before.
std::optional<std::string> of_unwritten(std::int64_t first_row, std::int64_t first_col) {
  Matrix got(Dtype::fp32, kRows, kCols, std::vector<std::byte>(kRows * kCols * 4, std::byte{0xFF}));
  for (std::int64_t row = 0; row < kRows; ++row) {
    for (std::int64_t col = 0; col < kCols; ++col) {
      if (row < first_row || col < first_col) {
        got.set(row, col, 1.0);
      }
    }
  }
  return explain_pattern(kCall, "y", compare(got, kValue, kBound, Poison::nan), kIsLeftOver)
      .value()
      .mistake;
}

}  // namespace

TEST_CASE("the nearest oracle that gives the same numbers is named") {
  const std::vector<Oracle> oracles = {constant("twice", 2.0), constant("half", 0.5),
                                       constant("about half", 0.5 + 1e-6)};
  CHECK(named(0.5, oracles) == "half");
  CHECK(named(2.0, oracles) == "twice");
  CHECK(named(3.0, oracles) == "");
}

TEST_CASE("two oracles that differ by fp64's rounding are equally near") {
  const Oracle half = constant("half", 0.5);
  CHECK(named(0.5, {constant("also half", 0.5 + 1e-15), half}) == "also half, half");
  CHECK(named(0.5, {constant("about half", 0.5 + 1e-7), half}) == "half");
  CHECK(named(0.5, {half, half}) == "half");
}

TEST_CASE("a number that several oracles leave open is told with all its values") {
  const auto said = [](const std::vector<std::string>& sentences) {
    std::vector<Oracle> oracles;
    for (const std::string& sentence : sentences) {
      oracles.push_back(constant("groups", 0.5));
      oracles.back().sentence = sentence;
    }
    return nearest({oracles.begin(), oracles.end()}).front().sentence;
  };
  CHECK(said({"Groups of 8 count.", "Groups of 32 count."}) == "Groups of 8 or 32 count.");
  CHECK(said({"Of 8, all: 8.", "Of 16, all: 16."}) == "Of 8 or 16, all: 8 or 16.");
  CHECK(said({"4 of 8", "4 of 16", "4 of 32"}) == "4 of 8, 16 or 32");
  CHECK(said({"By 1.", "By 2.", "By 4.", "By 8.", "By 16."}) == "By 1, 2, ... or 16.");
  // What differs in more than whole numbers keeps the first sentence.
  CHECK(said({"Groups of 8 count.", "Groups of 8 are left out."}) == "Groups of 8 count.");
  CHECK(said({"Every 2nd lane.", "Every 4th lane."}) == "Every 2nd lane.");
  CHECK(said({"With eps 1e-05.", "With eps 1e-06."}) == "With eps 1e-05.");
  CHECK(said({"Of 8, all.", "Of 8 all."}) == "Of 8, all.");
  CHECK(said({"Of 8 all.", "Of 8 all."}) == "Of 8 all.");
}

TEST_CASE("an oracle that is not wrong itself explains nothing") {
  CHECK(named(1.0 + 2e-6, {constant("no mistake here", 1.0)}) == "");
}

TEST_CASE("an oracle that does not apply is passed over") {
  const Oracle none = {"none", "", [](const Case&, const std::string&, const WrongRows&) {
                         return std::optional<Field>();
                       }};
  CHECK(named(2.0, {none}) == "");
}

TEST_CASE("unwritten elements tell what was left out") {
  CHECK(of_unwritten(0, 256) == "no-stride-loop");
  CHECK(of_unwritten(0, 997) == "tail-dropped");
  CHECK(of_unwritten(2, 0) == "rows-not-multiple");
  CHECK(of_unwritten(1, 500) == "output-partly-written");
}

TEST_CASE("only lane 0 right: the sum was not broadcast, if there is one") {
  Matrix got = Matrix::rounded(Dtype::fp32, Field(kRows, kCols, 7.0));
  for (std::int64_t row = 0; row < kRows; ++row) {
    for (std::int64_t col = 0; col < kCols; col += 32) {
      got.set(row, col, 1.0);
    }
  }
  const Comparison wrong = compare(got, kValue, kBound, Poison::nan);
  const auto diagnosis = explain_pattern(kCall, "y", wrong, kIsLeftOver);
  CHECK(diagnosis.value().mistake == "sum-not-broadcast");
  CHECK_FALSE(explain_pattern(kCall, "dweight", wrong, kIsLeftOver));  // sums down the columns
  const contract::Function no_sum = {
      "scale", {{"rows"}, {"cols"}}, {{"y", Role::output, "rows", "cols"}}};
  const Case other = contract::call(no_sum, Dtype::fp32, {.sizes = {{"rows", 4}, {"cols", 4}}});
  CHECK_FALSE(explain_pattern(other, "y", wrong, kIsLeftOver));
}

TEST_CASE("a launch error is told by what the call asked for") {
  const std::string error = "cudaErrorInvalidValue: invalid argument";
  const contract::Function turn = {
      "turn", {{"tokens"}, {"dim", 1, 65'536}}, {{"x", Role::input, "tokens", "dim"}}};
  const auto told = [&](std::int64_t tokens, std::int64_t dim, const std::string& grid = "") {
    const Case call =
        contract::call(turn, Dtype::fp32, {.sizes = {{"tokens", tokens}, {"dim", dim}}, .seed = 1});
    return explain_launch_error(call, error + grid);
  };
  CHECK(told(65537, 1).mistake == "grid-limit");
  CHECK(told(65537, 1).sentence.find("put the tokens in x") != std::string::npos);
  CHECK(told(1, 65536).mistake == "shared-row-too-big");
  const std::string negative = "The grid is -8377211 x 1 x 1: from 1 to 2147483647";
  CHECK(told(65537, 65536, negative).mistake == "index-overflow");
  CHECK(told(65537, 1, negative).mistake == "launch-failed");
  CHECK(told(65537, 1, "The grid is 1 x 65537 x 1: from 1").mistake == "grid-limit");
  CHECK(told(1, 65537, "The grid is 1 x 65537 x 1: from 1").mistake == "grid-limit");
  CHECK(told(65537, 1, "The grid is 0 x 1 x 1: a launch").mistake == "launch-failed");
  CHECK(told(65537, 1, "The block is 2048 x 1 x 1: it may").mistake == "launch-failed");
  const std::string clusters = "The clusters are 16 x 1 x 1 blocks (cudaErrorInvalidClusterSize)";
  CHECK(told(1, 65536, clusters).mistake == "launch-failed");
  CHECK(told(1, 1024).mistake == "launch-failed");
  const Diagnosis no_memory = explain_launch_error(
      contract::call(turn, Dtype::fp32, {.sizes = {{"tokens", 65537}, {"dim", 1}}, .seed = 1}),
      "cudaErrorMemoryAllocation: out of memory");
  CHECK(no_memory.mistake == "launch-failed");
  CHECK(no_memory.sentence.find("asked for memory") != std::string::npos);
  CHECK(explain_launch_error(Case("f", Dtype::fp32), error).mistake == "launch-failed");
}

TEST_CASE("a finding of the simulator names mistake and line") {
  Finding finding;
  finding.kind = Kind::barrier_divergence;
  finding.message = "Thread 0 waits at line 41, thread 200 has returned.";
  finding.parties = {{"waits", "forward.cu", 41, {}, {}, 0, 0}};
  CHECK(mistake_of(finding) == "divergent-barrier");
  CHECK(location_of(finding) == "forward.cu:41");
  finding.kind = Kind::trap;
  CHECK(mistake_of(finding) == std::nullopt);
}

TEST_CASE("a pack that is taken element by element is to be copied whole") {
  LineTraffic line;
  line.buffer = "x";
  line.requests = 8;
  line.lanes = 256;
  line.bytes = 1024;
  line.units = 128;
  line.least_units = 32;
  line.lane_bytes = 4;
  line.lane_distance = 16;
  CHECK(advice(line, 128, 0).value().find("copy it whole into a variable") != std::string::npos);
  line.type = AccessType::write;
  CHECK(advice(line, 128, 0).value().find("fill a variable") != std::string::npos);
  line.lane_distance = 4096;
  CHECK(advice(line, 128, 0).value().find("let lane i take element i") != std::string::npos);
  line.space = onepass::verdict::MemorySpace::distributed;
  CHECK_FALSE(advice(line, 128, 0));  // each lane sends to a block of its own
  line.space = onepass::verdict::MemorySpace::global;
  for (const std::int64_t distance : {0, 4, 12, 4096}) {
    line.lane_distance = distance;
    CHECK_FALSE(pack_advice(line));
  }
}
