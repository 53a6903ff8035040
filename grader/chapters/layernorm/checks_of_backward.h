// What the checks of exercises 2.4 and 2.6 do: the same calls, of two functions. Each exercise
// lists them with its own TODOs and points, in checks_backward_fused.cpp and
// checks_backward_fast.cpp.
#pragma once

#include "chapters/common/check.h"
#include "chapters/layernorm/calls.h"
#include "chapters/layernorm/mistakes.h"
#include "chapters/layernorm/shapes.h"

namespace onepass::layernorm {

inline const Outputs kOfDx = {expected_dx};
inline const Outputs kOfSums = {expected_dweight, expected_dbias};
inline const Outputs kOfBackward = {expected_dx, expected_dweight, expected_dbias};

/// The checks of one of the two functions.
class BackwardChecks {
 public:
  explicit BackwardChecks(const Function& function) : function_(function) {}

  /// Runs the function on these inputs, and compares.
  void check(const Outputs& outputs, Gradients inputs, const Arrangement& arrangement = {},
             const char* none = "") const;
  /// The same for rows of random numbers; far_off: with a mean of x far from 0.
  CheckRows rows_of(const Outputs& outputs, bool far_off = false) const;

  void dx_of_many_rows() const;
  void dx_of_wide_rows() const;

  void sums_of_every_column() const;
  void sums_of_many_rows() const;
  void sums_of_wide_rows() const;
  void sums_stay_in_fp32() const;
  void no_rows() const;
  void same_bits_again() const;
  void calls_of_every_size() const;
  /// most: columns at most.
  void random_shapes_and_values(std::int64_t most = common::kMostAsked) const;

 private:
  const Function& function_;
};

}  // namespace onepass::layernorm
