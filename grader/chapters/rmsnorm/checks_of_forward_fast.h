// What the checks of exercises 1.4 and 1.7 do: the same calls, of two functions. Each exercise
// lists them with its own TODOs and points, in checks_forward_fast.cpp and checks_wide_rows.cpp.
#pragma once

#include "chapters/common/check.h"
#include "chapters/common/speed.h"
#include "chapters/rmsnorm/mistakes.h"
#include "chapters/rmsnorm/shapes.h"

namespace onepass::rmsnorm {

inline const Outputs kOfRstd = {expected_rstd};
inline const Outputs kOfY = {expected_y};
inline const Outputs kOfForward = {expected_rstd, expected_y};

/// The checks of one of the two functions.
class ForwardFastChecks {
 public:
  /// compared: results of the calls whose traffic is counted, if that is of right calls only.
  ForwardFastChecks(const Function& function, const Outputs& compared)
      : function_(function), compared_(compared) {}

  /// A call on x, with random weights.
  Case call_of(Matrix x, const Arrangement& arrangement = {}, double eps = kEps) const;
  /// Runs it, and compares.
  void check(const Outputs& outputs, Matrix x, const Arrangement& arrangement = {},
             double eps = kEps) const;
  /// The same for rows of random numbers.
  CheckRows rows_of(const Outputs& outputs) const;

  // Results.
  void eps_inside_the_root(const common::WithEps& all) const;
  void held_rows(const Outputs& outputs) const;
  void one_large_number() const;
  void rounded_once() const;
  void without_weight(std::int64_t cols) const;
  void rows_apart() const;
  void one_unaligned() const;
  void wide_rows(const Outputs& outputs) const;
  /// most: columns at most.
  void random_shapes_and_values(std::int64_t most) const;
  void called_again() const;

  // Traffic, which the simulator counts.
  void loaded_once(std::int64_t rows, std::int64_t cols, Dtype dtype,
                   const Arrangement& arrangement = {}) const;
  void loaded_once_up_to(std::int64_t most) const;
  void in_packs(std::int64_t rows, std::int64_t cols, Dtype dtype,
                const Arrangement& arrangement = {}) const;
  void in_packs_up_to(std::int64_t most) const;

 private:
  const Function& function_;
  const Outputs compared_;
};

}  // namespace onepass::rmsnorm
