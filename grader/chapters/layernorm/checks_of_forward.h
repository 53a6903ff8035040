// What the checks of exercises 2.1 and 2.5 do: the same calls, of two functions. Each exercise
// lists them with its own TODOs and points, in checks_forward.cpp and checks_forward_fast.cpp.
#pragma once

#include "chapters/common/check.h"
#include "chapters/layernorm/calls.h"
#include "chapters/layernorm/mistakes.h"

namespace onepass::layernorm {

inline const Outputs kOfMean = {expected_mean};
inline const Outputs kOfRstd = {expected_rstd};
inline const Outputs kOfY = {expected_y};
inline const Outputs kOfForward = {expected_mean, expected_rstd, expected_y};

/// Random numbers, by default around a mean that is not 0.
Matrix random_x(Dtype dtype, std::int64_t rows, std::int64_t cols, double mean = 0.5,
                double deviation = 1.0);

/// The checks of one of the two functions.
class ForwardChecks {
 public:
  static constexpr float kEps = 1e-5f;

  explicit ForwardChecks(const Function& function) : function_(function) {}

  /// A call on x, with random weight and bias.
  Case call_of(Matrix x, float eps = kEps, const Arrangement& arrangement = {}) const;
  /// Runs it, and compares.
  void check(const Outputs& outputs, Matrix x, float eps = kEps,
             const Arrangement& arrangement = {}) const;
  /// The same for rows of random numbers.
  CheckRows rows_of(const Outputs& outputs) const;

  void mean_is_added_up_in_fp32() const;
  void large_means() const;
  void means_of_wide_rows(const Outputs& outputs) const;
  void eps_is_added_as_given() const;
  void eps_in_wide_rows() const;
  void one_large_number() const;

  void weight_or_bias_missing() const;
  void y_is_rounded_once() const;
  void row_counts() const;
  void wide_rows() const;
  /// most: columns at most.
  void random_shapes_and_values(std::int64_t most = common::kMostAsked) const;

 private:
  const Function& function_;
};

}  // namespace onepass::layernorm
