#include "chapters/common/gradients.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "chapters/common/forward.h"

namespace onepass::common {
namespace {

constexpr double kHuge = 1024.0;

/// How much loss(r, row r of x), a number that depends on one row, changes with each element of x.
Field by_differences(const Field& x,
                     const std::function<double(std::int64_t row, const Field& x_row)>& loss) {
  constexpr double kStep = 1e-5;
  return verdict::field_of(x.rows, x.cols, [&](std::int64_t row, std::int64_t col) {
    Field moved = row_of(x, row);
    moved(0, col) = x(row, col) + kStep;
    const double above = loss(row, moved);
    moved(0, col) = x(row, col) - kStep;
    return (above - loss(row, moved)) / (2.0 * kStep);
  });
}

/// The sum of dy * y over all rows and columns.
double sum_of_dy_y(Norm norm, const Field& dy, const Field& x, const Field& weight) {
  const Field y =
      *forward({.x = x, .eps = norm.eps, .centred = norm.centred, .weight = weight}, "y");
  return std::inner_product(dy.values.begin(), dy.values.end(), y.values.begin(), 0.0);
}

}  // namespace

Gradients gradients(Norm norm, Matrix dy, Matrix x, std::optional<Matrix> weight) {
  const Statistics rows = *statistics({.x = x.field(), .eps = norm.eps, .centred = norm.centred});
  std::optional<Matrix> mean;
  if (norm.centred) {
    mean = Matrix::rounded(Dtype::fp32, rows.mean);
  }
  return {norm,
          std::move(dy),
          std::move(x),
          std::move(weight),
          std::move(mean),
          Matrix::rounded(Dtype::fp32, rows.rstd)};
}

Gradients random_gradients(Norm norm, Dtype dtype, std::int64_t rows, std::int64_t cols,
                           double mean) {
  return gradients(norm, random_tensor("dy", dtype, rows, cols, 0.3),
                   random_tensor("x", dtype, rows, cols, mean, 2.0), random_weight(dtype, cols));
}

Gradients gradients_of(Norm norm, const Matrix& x) {
  const Field size = magnitudes(x.field());
  const double most = *std::max_element(size.values.begin(), size.values.end());
  return gradients(norm, random_tensor("dy", x.dtype(), x.rows(), x.cols(), 0.0, most / 4.0), x,
                   random_weight(x.dtype(), x.cols()));
}

verdict::contract::Arguments arguments_of(Gradients inputs) {
  return {.values = {{"dy", std::move(inputs.dy)},
                     {"x", std::move(inputs.x)},
                     {"weight", std::move(inputs.weight)},
                     {"mean", std::move(inputs.mean)},
                     {"rstd", std::move(inputs.rstd)}}};
}

Gradients with_other_statistics(Gradients inputs) {
  const std::int64_t rows = inputs.x.rows();
  if (inputs.mean) {
    inputs.mean = random_tensor("mean", Dtype::fp32, rows, 1);
  }
  inputs.rstd =
      numbers("rstd", inputs.x.dtype(), rows, 1).uniform_matrix(Dtype::fp32, rows, 1, 0.5, 2.0);
  return inputs;
}

Gradients with_one_dy_a_row(Gradients inputs, const std::vector<std::int64_t>& columns) {
  inputs.dy = zero_but_for(inputs.dy.dtype(), inputs.dy.cols(), columns);
  return inputs;
}

Gradients with_weights_0(Gradients inputs) {
  inputs.weight = changed(
      *inputs.weight, [](auto, auto col, double weight) { return col % 3 == 0 ? 0.0 : weight; });
  return inputs;
}

Gradients cancelling(Gradients inputs) {
  for (std::int64_t col = 0; col < inputs.x.cols(); ++col) {
    inputs.dy.set(0, col, kHuge);
    inputs.dy.set(1, col, -kHuge);
    inputs.x.set(1, col, inputs.x.get(0, col));
  }
  return gradients(inputs.norm, inputs.dy, inputs.x, inputs.weight);
}

Gradients scattered(Gradients inputs) {
  // 16 pairs of rows, one row in each 32nd part, with the same x, so that they cancel in dweight
  // too.
  const verdict::Random places = verdict::session().random().stream("places");
  const std::int64_t part = inputs.x.rows() / 32;
  for (std::int64_t number = 0; number < 32; ++number) {
    const std::int64_t row =
        number * part + places.integer(static_cast<std::uint64_t>(number), 0, part - 1);
    for (std::int64_t col = 0; col < inputs.x.cols(); ++col) {
      inputs.dy.set(row, col, number % 2 == 0 ? kHuge : -kHuge);
      inputs.x.set(row, col, static_cast<double>(col % 4));
    }
  }
  return gradients(inputs.norm, inputs.dy, inputs.x, inputs.weight);
}

Field dx_by_differences(const Gradients& inputs) {
  const Field dy = inputs.dy.field();
  const Field weight = inputs.weight->field();
  return by_differences(inputs.x.field(), [&](std::int64_t row, const Field& x_row) {
    return sum_of_dy_y(inputs.norm, row_of(dy, row), x_row, weight);
  });
}

Field dweight_by_differences(const Gradients& inputs) {
  const Field dy = inputs.dy.field();
  const Field x = inputs.x.field();
  return by_differences(inputs.weight->field(), [&](std::int64_t, const Field& moved) {
    return sum_of_dy_y(inputs.norm, dy, x, moved);
  });
}

}  // namespace onepass::common
