// What the checks of exercises 1.3 and 1.6 do: the same calls, of two functions. Each exercise
// lists them with its own TODOs and points, in checks_backward.cpp and checks_backward_fast.cpp.
#pragma once

#include "chapters/common/check.h"
#include "chapters/rmsnorm/calls.h"
#include "chapters/rmsnorm/mistakes.h"

namespace onepass::rmsnorm {

inline const Outputs kOfDx = {expected_dx};
inline const Outputs kOfDweight = {expected_dweight};
inline const Outputs kOfBoth = {expected_dx, expected_dweight};

/// Random dy and weight, and x of this mean with its own rstd.
Gradients random_gradients(Dtype dtype, std::int64_t rows, std::int64_t cols, double mean = 0.5);

/// The checks of one of the two functions.
class BackwardChecks {
 public:
  explicit BackwardChecks(const Function& function) : function_(function) {}

  /// Runs the function on these inputs, and compares.
  void check(const Outputs& outputs, Gradients inputs, const Arrangement& arrangement = {},
             CastOrder order = CastOrder::weight_in_fp32) const;
  /// The same for rows of random numbers.
  CheckRows rows_of(const Outputs& outputs) const;

  void dx_of_narrow_rows() const;
  void dx_is_the_derivative() const;
  void dx_of_a_single_dy() const;
  void dx_is_rounded_once() const;
  void dx_of_many_rows() const;
  void dx_of_wide_rows() const;

  void dweight_of_all_rows() const;
  void dweight_is_the_derivative() const;
  void dweight_of_many_rows() const;
  void dweight_stays_in_fp32() const;
  void dweight_of_wide_rows() const;
  void no_rows() const;
  void called_again() const;
  void calls_of_every_size() const;

  void llama_order() const;
  /// most: columns at most.
  void random_shapes_and_values(std::int64_t most = common::kMostAsked) const;

 private:
  const Function& function_;
};

}  // namespace onepass::rmsnorm
