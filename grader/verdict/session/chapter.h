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
#include "verdict/contract/function.h"
#include "verdict/session/session.h"

namespace onepass::verdict {

/// Where traffic or bandwidth is measured: all sizes of the function, by their names.
struct Shape {
  contract::Sizes sizes;
  Dtype dtype = Dtype::fp32;
  /// What points for speed hold for the least there: as many times each input and output once.
  double times_least = 1.0;
};

/// How an exercise is measured.
struct Measurement {
  std::vector<Shape> traffic;    // on the simulator: small, a second or less
  std::vector<Shape> bandwidth;  // on a GPU: several times larger than its L2
  // For an access map: small enough to see every request.
  Shape map = {{{"rows", 4}, {"cols", 256}}, Dtype::fp32};
  /// What tables and --rows and --cols call rows and columns. In a user's shape each tells its
  /// first factor; all other sizes are as in `map`, and then as `follow` makes them.
  contract::Extent rows = "rows", cols = "cols";
  void (*follow)(contract::Sizes& sizes) = nullptr;
  /// The extent that a call's sample has some rows of.
  contract::Extent sampled_rows = "rows";
  const contract::Function* function = nullptr;  // what is called: it outlives this
  /// A call of that shape. Its inputs are hash filled, from seeds that depend on `seed`.
  std::function<Case(const Shape&, std::uint64_t seed)> make_case;
  /// What the outputs must be in some rows of a timed call. `rows` are their numbers. `sampled` is
  /// the call with only those rows: tensors whose rows are `sampled_rows` hold these, others (a
  /// weight: 1 x cols) are whole. Scalars are those of the whole call.
  std::function<std::vector<Expectation>(const Case& sampled,
                                         const std::vector<std::int64_t>& rows)>
      expectations;
  /// The same for outputs that are sums down the columns, over all rows. `sampled` is the call with
  /// some columns only, of tensors whose columns are "cols". Empty where there are no such sums.
  std::function<std::vector<Expectation>(const Case& sampled)> column_sums;
};

struct Exercise {
  std::string id;     // "rmsnorm/forward", also its TEST_SUITE
  std::string title;  // "The forward pass"
  std::string docs;   // "docs/01_rmsnorm.md, \"1.2 The forward pass\""
  Measurement measurement;
  bool optional = false;
};

struct Chapter {
  std::string name;  // "rmsnorm"
  std::vector<Exercise> exercises;
};

/// main() of grade-<chapter>: options, checks, measurements, events (see main.cpp). Returns 0 after
/// a complete run whatever the score, 2 for a usage error or a fault of the grader.
int grade(const Chapter& chapter, int argc, char** argv);

}  // namespace onepass::verdict
