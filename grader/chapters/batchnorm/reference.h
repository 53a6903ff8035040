// What chapter 4's functions should give, in fp64, the plainest code there is. The inputs are the
// numbers as they were rounded to their dtype; nothing here is rounded again.
//
// A tensor [batch, channels, space] is kept as a matrix with a row for each channel, [channels,
// batch * space]: then a channel's statistics are a row's.
#pragma once

#include <cstdint>

#include "verdict/values/field.h"

namespace onepass::batchnorm {

using verdict::Field;

/// From the matrix of a call, [batch * channels, space], to [channels, batch * space], and back.
Field by_channel(const Field& tensor, std::int64_t channels);
Field as_tensor(const Field& channels, std::int64_t batch);

/// All [channels, 1].
Field means(const Field& x);
Field biased_variances(const Field& x, const Field& mean);
Field rstd_of(const Field& variance, double eps);
Field mean_magnitudes(const Field& x);

/// (1 - momentum) * old + momentum * batch.
Field moved(const Field& old, const Field& batch, double momentum);

/// (x - mean) * rstd * weight + bias.  x: [channels, count], the others [channels, 1].
Field normalized(const Field& x, const Field& mean, const Field& rstd, const Field& weight,
                 const Field& bias);

/// What batchnorm_forward writes. y: [channels, count], the others [channels, 1].
struct Forward {
  Field y, running_mean, running_var, save_mean, save_rstd;
};

/// What it reads, besides momentum and eps.
struct Inputs {
  Field x;                          // [channels, count]
  Field weight, bias;               // [channels, 1]
  Field running_mean, running_var;  // [channels, 1]
  double eps = 0.0;
  double momentum = 0.0;
  std::int64_t batch = 1;

  std::int64_t channels() const { return x.rows; }
  std::int64_t count() const { return x.cols; }
};

Forward batchnorm_forward(const Inputs& in);
Field batchnorm_evaluate(const Inputs& in);

}  // namespace onepass::batchnorm
