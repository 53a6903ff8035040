// Chapter: what a chapter tells the deciding process about itself, besides its checks.
//
//     int main(int argc, char** argv) {
//       return onepass::verdict::grade(onepass::rmsnorm::chapter(), argc, argv);
//     }
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "verdict/case.h"
#include "verdict/session/session.h"

namespace onepass::verdict {

/// A size at which traffic or bandwidth is measured.
struct Shape {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  Dtype dtype = Dtype::fp32;
};

/// How an exercise is measured.
struct Measurement {
  std::vector<Shape> traffic;         // on the simulator: small, a second or less
  std::vector<Shape> bandwidth;       // on a GPU: several times larger than its L2
  Shape map = {4, 256, Dtype::fp32};  // for an access map: small enough to see every request
  std::int64_t cols_step = 1;         // make_case() takes multiples of it as cols
  /// The least number of bytes that any kernel can move: each input read once, each output written
  /// once, what all rows share counted once.
  std::function<std::int64_t(const Shape&)> least_bytes;
  /// A call of that shape. Its inputs are hash filled, from seeds that depend on `seed`.
  std::function<Case(const Shape&, std::uint64_t seed)> make_case;
  /// What the outputs must be in some rows of a timed call. `rows` are their numbers. `sampled` is
  /// the call with only those rows: buffers that have a row for each row of the call hold these,
  /// others (a weight: 1 x cols) are whole. Scalars are those of the whole call.
  std::function<std::vector<Expectation>(const Case& sampled,
                                         const std::vector<std::int64_t>& rows)>
      expectations;
  /// The same for outputs that are sums down the columns, over all rows. `sampled` is the call with
  /// some columns only: buffers as wide as the call hold these. Empty where there are no such sums.
  std::function<std::vector<Expectation>(const Case& sampled)> column_sums;
};

struct Exercise {
  std::string id;      // "rmsnorm/forward", also its TEST_SUITE
  std::string title;   // "The forward pass"
  std::string source;  // "01_rmsnorm/forward.cu", below exercises/
  std::string docs;    // "docs/01_rmsnorm.md, \"1.2 The forward pass\""
  Measurement measurement;
};

struct Chapter {
  std::string name;  // "rmsnorm"
  std::vector<Exercise> exercises;
};

/// main() of grade-<chapter>: options, checks, measurements, events (see main.cpp). Returns 0 after
/// a complete run whatever the score, 2 for a usage error or a fault of the grader.
int grade(const Chapter& chapter, int argc, char** argv);

}  // namespace onepass::verdict
