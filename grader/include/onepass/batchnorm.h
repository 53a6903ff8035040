// Chapter 4, batch normalisation: the functions that the exercises define.
//
// What holds for all functions of all chapters (streams, errors, pointers, precision, NaN) stands
// in onepass/launchers.h. Here besides:
//   x, y      [batch, channels, space], dense. A 2-D tensor [batch, channels] has space = 1, a 3-D
//             one [batch, channels, length] has space = length, and a 4-D one [batch, channels,
//             height, width] has space = height * width.
//   weight, bias                [channels], of type T
//   running_mean, running_var   [channels], fp32; a variance is not negative
//   sizes     0 to 2^24, each. batch * space and batch * channels fit an int, and batch * channels
//   *
//             space need not.
#pragma once

#include <onepass/batchnorm_scratch.h>
#include <onepass/launchers.h>

namespace onepass {

/// Exercise 4.1. Batch normalisation while training (Ioffe and Szegedy, "Batch Normalization:
/// Accelerating Deep Network Training by Reducing Internal Covariate Shift", 2015, algorithm 1).
/// Of each channel c, over all samples n and all positions s, count = batch * space elements:
///
///     mean = sum of x[n][c][s] / count
///     var  = sum of (x[n][c][s] - mean)^2 / count                             biased
///     save_mean[c] = mean
///     save_rstd[c] = 1 / sqrt(var + eps)
///     running_mean[c] = (1 - momentum) * running_mean[c] + momentum * mean
///     running_var[c]  = (1 - momentum) * running_var[c] + momentum * var * count / (count - 1)
///     y[n][c][s] = (x[n][c][s] - mean) * save_rstd[c] * weight[c] + bias[c]   rounded to T once
///
/// save_mean, save_rstd: [channels], fp32, for the backward pass. running_mean and running_var are
/// read and written. count is 0 or at least 2: one element has no variance, and count - 1 would be
/// 0. With a count of 0 nothing is written, the running statistics neither. momentum: 0 to 1; at 1
/// nothing is left of what was there, however large. eps: added as given, may be 0. var keeps the
/// digits that summing (x - mean)^2 in fp32 keeps, up to a mean of 2000 times the deviation, and
/// mean is as exact as a sum in fp32, in any order.
template <typename T>
void batchnorm_forward(const T* x, const T* weight, const T* bias, T* y, float* running_mean,
                       float* running_var, float* save_mean, float* save_rstd, int batch,
                       int channels, int space, float eps, float momentum, cudaStream_t stream);

/// Exercise 4.2. Batch normalisation once training is over (algorithm 2 of the same paper):
///
///     y[n][c][s] = (x[n][c][s] - running_mean[c]) / sqrt(running_var[c] + eps) * weight[c]
///                  + bias[c]
///
/// computed in fp32, rounded to T once. Nothing but y is written. eps: as in 4.1. batch * space
/// may be 1 here.
template <typename T>
void batchnorm_evaluate(const T* x, const T* weight, const T* bias, const float* running_mean,
                        const float* running_var, T* y, int batch, int channels, int space,
                        float eps, cudaStream_t stream);

/// Exercise 4.3. What batchnorm_forward gives, of the same arguments, and with less traffic:
///
///   - Where space is more than 1, and batch * space at most 8,192, x is loaded once.
///   - Whatever the sizes, it is loaded at most twice.
///   - Where x and y are aligned to 16 bytes, and space comes to a multiple of 16 bytes, x is
///     loaded and y is stored 16 bytes at a time.
///   - A channel of 65,536 elements or more is shared by eight blocks at least.
///
/// What counts as a load is said in exercise 1.4 (onepass/rmsnorm.h).
///
/// scratch: batchnorm_scratch_size(batch, channels, space) fp32 numbers, aligned to 16 bytes, to
/// use as you like; what is in it before the call is undefined. With fewer than 128 elements a
/// channel there is nothing behind its address.
template <typename T>
void batchnorm_forward_fast(const T* x, const T* weight, const T* bias, T* y, float* running_mean,
                            float* running_var, float* save_mean, float* save_rstd, float* scratch,
                            int batch, int channels, int space, float eps, float momentum,
                            cudaStream_t stream);

}  // namespace onepass
