// What the checks of exercises 4.1 and 4.3 do: the same calls, of two functions. Each exercise
// lists them with its own TODOs and points, in checks_forward.cpp and checks_forward_fast.cpp.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "chapters/batchnorm/mistakes.h"
#include "chapters/batchnorm/shapes.h"
#include "chapters/common/check.h"

namespace onepass::batchnorm {

/// Names of outputs.
using Names = std::vector<std::string>;
inline const Names kMean = {"save_mean"};
inline const Names kRstd = {"save_rstd"};
inline const Names kRunning = {"running_mean", "running_var"};
inline const Names kY = {"y"};
inline const Names kSavedAndY = {"save_mean", "save_rstd", "y"};
inline const Names kAll = {"save_mean", "save_rstd", "running_mean", "running_var", "y"};

/// The checks of one of the two functions. Where outputs are not given, the name says which it is.
class ForwardChecks {
 public:
  explicit ForwardChecks(const Function& function) : function_(function) {}

  /// Runs the function, and compares the outputs.
  void check(const Names& outputs, Arguments arguments) const;

  // Shapes.
  void two_dimensional(const Names& outputs, Dtype of_many_channels) const;
  void three_and_four_dimensional(const Names& outputs) const;
  void far(const Names& outputs) const;
  void far_channels(const Names& outputs) const;

  // Numbers.
  void one_large_number(const Names& output) const;
  void mean_is_added_up_in_fp32() const;
  void large_means() const;
  /// Whoever takes some elements for what all are like, loses the digits of the others.
  void landmarks_unlike_others(const Names& output) const;
  void eps_is_added_as_given() const;
  void eps_in_large_channels() const;
  void running_statistics_move() const;
  void momentum_0_and_1() const;
  /// Variances so small beside eps that rstd has none of their digits.
  void running_variance_beside_eps(const std::vector<Shape>& shapes) const;
  void y_is_rounded_once() const;
  void equal_numbers() const;

  /// In every way that the tensors may lie; only: the tensors that matter.
  void arrangements(const Names& outputs, const std::set<std::string>& only) const;
  void vectors_at_any_address() const;
  void empty_tensor() const;
  void called_again() const;
  void calls_of_every_size() const;
  void random_shapes_and_values() const;

 private:
  void check_shapes(const Names& outputs, const std::vector<Shape>& shapes) const;

  const Function& function_;
};

}  // namespace onepass::batchnorm
