// What the backward functions of RMSNorm and LayerNorm are given, and derivatives that know nothing
// of the formulas of a backward pass.
#pragma once

#include <optional>
#include <vector>

#include "chapters/common/shapes.h"

namespace onepass::common {

/// The forward pass that a backward pass belongs to.
struct Norm {
  bool centred;  // does it subtract a mean?
  double eps;
};

struct Gradients {
  Norm norm;
  Matrix dy, x;                  // [rows, cols]
  std::optional<Matrix> weight;  // [1, cols]
  std::optional<Matrix> mean;    // [rows, 1], fp32; none if nothing is centred
  Matrix rstd;                   // [rows, 1], fp32
};

/// dy, x and weight, with x's own statistics, rounded to fp32 as the forward pass saves them.
Gradients gradients(Norm norm, Matrix dy, Matrix x, std::optional<Matrix> weight);
/// Random dy and weight, and x of this mean.
Gradients random_gradients(Norm norm, Dtype dtype, std::int64_t rows, std::int64_t cols,
                           double mean);

/// Random dy about as large as x, so that dx is about 1, and weight.
Gradients gradients_of(Norm norm, const Matrix& x);

/// For contract::call().
verdict::contract::Arguments arguments_of(Gradients inputs);

/// The same with mean and rstd that are numbers of their own, as if of another tensor.
Gradients with_other_statistics(Gradients inputs);
/// With a dy of zeros but for one number a row, in row r at column columns[r].
Gradients with_one_dy_a_row(Gradients inputs, const std::vector<std::int64_t>& columns);
/// With a weight of 0 in every third column, which dweight does not depend on.
Gradients with_weights_0(Gradients inputs);
/// Made to cancel: rows 0 and 1, a huge dy and its negative with the same x. They are of different
/// groups, so that partial sums in 16 bits lose small numbers.
Gradients cancelling(Gradients inputs);
/// Of many rows a few huge ones that cancel, spread at random: whoever adds up some of the rows in
/// 16 bits, in whatever order, loses small numbers beside a huge one.
Gradients scattered(Gradients inputs);

/// dx[r][c] and dweight[c]: how much the sum of dy * y, of the fp64 forward pass, changes with
/// x[r][c] and with weight[c], by central differences. An error in the formula for dx would not
/// hide in both. Meant for small tensors of moderate numbers; good to about 1e-9.
Field dx_by_differences(const Gradients& inputs);
Field dweight_by_differences(const Gradients& inputs);

}  // namespace onepass::common
