// The backward pass of a normalisation over rows, in fp64, the plainest code there is: LayerNorm's,
// and RMSNorm's, which is the same without a mean.
//
//     x_hat   = (x - mean) * rstd                                       mean: 0 in RMSNorm
//     wdy     = dy * weight
//     dx      = rstd * (wdy - mean_wdy - x_hat * mean_wdy_hat)          mean_wdy: 0 in RMSNorm
//     dweight = the sum over the rows of dy * x_hat
//     dbias   = the sum over the rows of dy
//
// mean_wdy and mean_wdy_hat are the means over a row of wdy and of wdy * x_hat. With no hooks this
// is what is right, with some it is a mistake.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "chapters/common/row_sum.h"
#include "chapters/common/rows.h"
#include "verdict/case.h"

namespace onepass::common {

/// A pass: what it is given, and what has been made of that so far.
struct Backward {
  verdict::Dtype dtype = verdict::Dtype::fp32;
  bool centred = true;         // LayerNorm's: the forward pass subtracted a mean
  bool rounded_x_hat = false;  // the forward pass rounded x_hat to `dtype` before the weight
  Field dy, x;                 // [rows, cols]
  Field weight;                // [1, cols]
  Field mean, rstd;            // [rows, 1]
  std::int64_t stride = 0;     // of x

  Field x_hat, wdy;              // [rows, cols]
  Field mean_wdy, mean_wdy_hat;  // [rows, 1]; [rows, cols] if each column has its thread's own
};

/// What a call's pass is given by its buffers dy, x, weight, mean and rstd. Without "mean" it is
/// RMSNorm's, without a weight it has ones; dy has no rows where the call says so.
Backward backward_of(const verdict::Case& call);

/// What goes wrong in a pass. What is left empty is right.
struct BackwardHooks {
  using Spoil = std::function<void(Backward& pass)>;

  /// The calls for which the mistake makes a difference.
  std::function<bool(const verdict::Case& call)> when = {};
  /// Changes what is read; false where that makes no difference.
  std::function<bool(const verdict::Case& call, Backward& pass)> read = {};
  /// Changes x_hat, for dx and for dweight.
  Spoil x_hat = {};
  /// Changes wdy or x_hat before their means are taken, for dx only.
  Spoil wdy = {};
  /// Instead of right_sum.
  RowSum row_sum = {};
  /// Changes anything that the last line of dx takes.
  Spoil means = {};
  /// Instead of what is added up for "dweight" or "dbias".
  std::function<Field(const Backward& pass, const std::string& output)> terms = {};
  /// Instead of column_sums(); nothing where the mistake makes no difference.
  std::function<std::optional<Field>(verdict::Dtype dtype, const Field& terms)> column_sums = {};
};

/// dx of what the pass is given. Leaves in the pass what was made on the way. Nothing where a hook
/// makes no difference.
std::optional<Field> backward_dx(Backward& pass, const BackwardHooks& hooks = {});

/// [rows, cols]: whose sums over the rows are `output`, "dweight" or "dbias".
Field backward_terms(Backward& pass, const std::string& output, const BackwardHooks& hooks = {});

}  // namespace onepass::common
