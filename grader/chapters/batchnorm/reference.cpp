// The fp64 reference of chapter 4.
#include "chapters/batchnorm/reference.h"

#include <cmath>
#include <functional>

namespace onepass::batchnorm {
namespace {

/// The mean over each row of f(row, element).
Field row_means(const Field& x, const std::function<double(std::int64_t row, double x)>& f) {
  Field result(x.rows, 1);
  for (std::int64_t row = 0; row < x.rows; ++row) {
    double sum = 0.0;
    for (std::int64_t col = 0; col < x.cols; ++col) {
      sum += f(row, x(row, col));
    }
    result(row, 0) = sum / static_cast<double>(x.cols);
  }
  return result;
}

}  // namespace

Field by_channel(const Field& tensor, std::int64_t channels) {
  const std::int64_t space = tensor.cols;
  Field result(channels, tensor.rows / channels * space);
  for (std::int64_t row = 0; row < tensor.rows; ++row) {
    for (std::int64_t s = 0; s < space; ++s) {
      result(row % channels, row / channels * space + s) = tensor(row, s);
    }
  }
  return result;
}

Field as_tensor(const Field& channels, std::int64_t batch) {
  const std::int64_t space = channels.cols / batch;
  return verdict::field_of(batch * channels.rows, space, [&](std::int64_t row, std::int64_t s) {
    return channels(row % channels.rows, row / channels.rows * space + s);
  });
}

Field means(const Field& x) {
  return row_means(x, [](std::int64_t, double value) { return value; });
}

Field mean_magnitudes(const Field& x) {
  return row_means(x, [](std::int64_t, double value) { return std::abs(value); });
}

Field biased_variances(const Field& x, const Field& mean) {
  return row_means(x, [&](std::int64_t row, double value) {
    return (value - mean(row, 0)) * (value - mean(row, 0));
  });
}

Field rstd_of(const Field& variance, double eps) {
  Field rstd = variance;
  for (double& value : rstd.values) {
    value = 1.0 / std::sqrt(value + eps);
  }
  return rstd;
}

Field moved(const Field& old, const Field& batch, double momentum) {
  Field result = old;
  for (std::size_t i = 0; i < result.values.size(); ++i) {
    result.values[i] = (1.0 - momentum) * old.values[i] + momentum * batch.values[i];
  }
  return result;
}

Field normalized(const Field& x, const Field& mean, const Field& rstd, const Field& weight,
                 const Field& bias) {
  Field y = x;
  for (std::int64_t row = 0; row < x.rows; ++row) {
    for (std::int64_t col = 0; col < x.cols; ++col) {
      y(row, col) = (x(row, col) - mean(row, 0)) * rstd(row, 0) * weight(row, 0) + bias(row, 0);
    }
  }
  return y;
}

Forward batchnorm_forward(const Inputs& in) {
  Forward out;
  out.save_mean = means(in.x);
  const Field biased = biased_variances(in.x, out.save_mean);
  out.save_rstd = rstd_of(biased, in.eps);
  Field unbiased = biased;
  for (double& variance : unbiased.values) {
    variance *= static_cast<double>(in.count()) / static_cast<double>(in.count() - 1);
  }
  out.running_mean = moved(in.running_mean, out.save_mean, in.momentum);
  out.running_var = moved(in.running_var, unbiased, in.momentum);
  out.y = normalized(in.x, out.save_mean, out.save_rstd, in.weight, in.bias);
  return out;
}

Field batchnorm_evaluate(const Inputs& in) {
  return normalized(in.x, in.running_mean, rstd_of(in.running_var, in.eps), in.weight, in.bias);
}

}  // namespace onepass::batchnorm
