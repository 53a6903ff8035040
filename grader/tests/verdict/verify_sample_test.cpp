// The sample of a timed call that the deciding process makes for itself.
#include "verdict/measure/verify_sample.h"

#include <doctest/doctest.h>

#include "worker/hash_fill.h"

namespace onepass::verdict {
namespace {

using contract::Tensor;

constexpr std::int64_t kRows = 5;
constexpr std::int64_t kCols = 40;
constexpr std::uint64_t kGeneration = 9;

const contract::Function kFunction = {"f",
                                      {{"rows"}, {"cols"}},
                                      {{"x", Role::input, "rows", "cols"},
                                       {"mean", Role::input, "rows", 1},
                                       {"weight", Role::input, 1, "cols"},
                                       {"sums", Role::output, 1, "cols"},
                                       {"scratch", Role::output, 1, 1},
                                       {"ids", Role::input, "rows", 1}},
                                      {{"eps", 0.5}}};

/// A call whose hash fills have these seeds.
Case call_with(std::uint64_t x_seed, std::uint64_t mean_seed) {
  Case call("f", Dtype::fp16, &kFunction);
  call.integer("rows", kRows).integer("cols", kCols).real("eps", 0.5);
  call.add({.name = "x",
            .dtype = Dtype::fp16,
            .rows = kRows,
            .cols = kCols,
            .hash = HashFill{x_seed, 0.0, 1.0}});
  call.add({.name = "mean", .rows = kRows, .cols = 1, .hash = HashFill{mean_seed, 2.0, 0.1}});
  call.add({.name = "weight", .dtype = Dtype::fp16, .null = true});
  call.add({.name = "sums", .role = Role::output, .dtype = Dtype::fp16, .rows = 1, .cols = kCols});
  call.add({.name = "scratch", .role = Role::output, .rows = 1, .cols = 7});
  return call;
}

/// What the buffers of call_with(1, 2) hold at kGeneration.
Case as_timed() {
  return call_with(worker::fill_seed(1, kGeneration), worker::fill_seed(2, kGeneration));
}

TEST_SUITE("sample of a timed call") {
  TEST_CASE("of columns: all rows of these, and whole what has other columns") {
    const std::vector<std::int64_t> cols = {0, 7, 39};
    const Case sampled = sample_of(call_with(1, 2), kGeneration, &Tensor::cols, "cols", cols);
    const Matrix x = sampled.values("x");
    REQUIRE(x.rows() == kRows);
    REQUIRE(x.cols() == 3);
    const Matrix whole = as_timed().values("x");
    for (std::int64_t row = 0; row < kRows; ++row) {
      for (std::int64_t j = 0; j < 3; ++j) {
        CHECK(x.get(row, j) == whole.get(row, cols[static_cast<std::size_t>(j)]));
      }
    }
    CHECK(sampled.values("mean").bytes() == as_timed().values("mean").bytes());
    CHECK(sampled.buffer("sums").cols == 3);
    CHECK(sampled.buffer("scratch").cols == 7);
    CHECK(sampled.buffer("weight").null);
    CHECK(sampled.integer("cols") == kCols);
    CHECK(sampled.real("eps") == 0.5);
  }

  TEST_CASE("of rows: these of all that has such rows") {
    const Case sampled = sample_of(call_with(1, 2), kGeneration, &Tensor::rows, "rows", {1, 4});
    const Matrix x = sampled.values("x");
    REQUIRE(x.rows() == 2);
    const Matrix whole = as_timed().values("x");
    CHECK(x.get(0, 3) == whole.get(1, 3));
    CHECK(x.get(1, 39) == whole.get(4, 39));
    CHECK(sampled.values("mean").get(1, 0) == as_timed().values("mean").get(4, 0));
    CHECK(sampled.buffer("sums").cols == kCols);
  }

  TEST_CASE("a wrong sum down a column is told with the column's number in the whole output") {
    WorkerClient client(ONEPASS_HOSTILE_WORKER);  // leaves zeros behind
    const Case call = call_with(1, 2);
    REQUIRE(client.prepare(call, 1, 5.0).outcome == Outcome::ok);
    double last_sum = 0.0;
    Measurement expected;
    expected.expectations = [](const Case&, const std::vector<std::int64_t>&) {
      return std::vector<Expectation>{};
    };
    expected.column_sums = [&](const Case& sampled) {
      const std::int64_t cols = sampled.buffer("sums").cols;
      Field sums(1, cols);
      sums(0, cols - 1) = last_sum;
      return std::vector<Expectation>{{"sums", sums, Field(1, cols, 0.1)}};
    };
    CHECK(verify_sample(client, call, kGeneration, 1, expected) == "");
    last_sum = 3.0;
    CHECK(verify_sample(client, call, kGeneration, 1, expected) ==
          "a timed call gave sums[39] = 0, expected 3");
    expected.column_sums = nullptr;
    CHECK(verify_sample(client, call, kGeneration, 1, expected) == "");
  }

  TEST_CASE("given values are what they are at every generation") {
    Case call("f", Dtype::fp32, &kFunction);
    call.integer("rows", 3).integer("cols", 2);
    Matrix ids(Dtype::int32, 3, 1);
    ids.set(0, 0, 5);
    ids.set(2, 0, 7);
    call.add({.name = "ids", .dtype = Dtype::int32, .rows = 3, .cols = 1, .values = ids});
    CHECK(sample_of(call, 1, &Tensor::rows, "rows", {0, 2}).values("ids").get(1, 0) == 7);
    CHECK(sample_of(call, 2, &Tensor::cols, "cols", {1}).values("ids").bytes() == ids.bytes());
  }
}

}  // namespace
}  // namespace onepass::verdict
