// Chapter 4, batch normalisation: the functions that the exercises define.
//
// Every function is a host launcher: it gets raw device pointers, starts its kernels on `stream`
// and returns without waiting. The caller looks for launch errors afterwards, so a launcher neither
// prints nor throws. Calls on two streams may run at the same time: what a call needs comes with
// its arguments, and nothing is kept in memory that another call uses.
//
// For all functions here:
//   T         float, __half or __nv_bfloat16. All arithmetic is fp32, and a result is rounded to T
//             once.
//   x, y      [batch, channels, space], dense. A 2-D tensor [batch, channels] has space = 1, a 3-D
//             one [batch, channels, length] has space = length, and a 4-D one [batch, channels,
//             height, width] has space = height * width.
//   weight, bias                [channels], of type T
//   running_mean, running_var   [channels], fp32
//   sizes     batch * space fits an int, batch * channels * space need not. An empty tensor, with
//             batch, channels or space zero, is legal: nothing is read or written.
//   pointers  aligned to their element type, to nothing more; no two buffers overlap.
//   infinity  and NaN in an input: what the formula makes infinite or NaN of y in IEEE
//             arithmetic is one of them, either. The statistics of such a channel are left open.
//             What does not depend on such an element, as in other channels, is what it is without.
//             What else depends on it is left open.
#pragma once

#include <cstdint>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

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
/// read and written. count is 0 or at least 2: one element has no variance. eps: added as given,
/// may be 0.
template <typename T>
void batchnorm_forward(const T* x, const T* weight, const T* bias, T* y, float* running_mean,
                       float* running_var, float* save_mean, float* save_rstd, int batch,
                       int channels, int space, float eps, float momentum, cudaStream_t stream);

/// Exercise 4.2. Batch normalisation once training is over (algorithm 2 of the same paper):
///
///     y[n][c][s] = (x[n][c][s] - running_mean[c]) / sqrt(running_var[c] + eps) * weight[c]
///                  + bias[c]
///
/// computed in fp32, rounded to T once. Nothing but y is written.
template <typename T>
void batchnorm_evaluate(const T* x, const T* weight, const T* bias, const float* running_mean,
                        const float* running_var, T* y, int batch, int channels, int space,
                        float eps, cudaStream_t stream);

}  // namespace onepass
