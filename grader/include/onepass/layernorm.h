// Chapter 2, LayerNorm: the functions that the exercises define.
//
// What holds for all functions of all chapters (streams, errors, pointers, strides, precision, NaN)
// stands in onepass/launchers.h. Here besides:
//   rows     0 to 2^24
//   cols     1 to 65,536
//
// The formulas are those of Ba, Kiros and Hinton, "Layer Normalization", 2016, and their
// derivatives. mean, rstd and x̂ ("x hat", the normalised value) are
//
//     mean[r]  = mean over c of x[r][c]
//     rstd[r]  = 1 / sqrt(mean over c of (x[r][c] - mean[r])^2 + eps)
//     x̂[r][c]  = (x[r][c] - mean[r]) * rstd[r]
#pragma once

#include <onepass/launchers.h>
#include <onepass/layernorm_scratch.h>

namespace onepass {

/// Exercise 2.1. LayerNorm forward:
///
///     y[r][c] = x̂[r][c] * weight[c] + bias[c]      computed in fp32, rounded to T once
///
/// x, y: [rows, cols], rows x_stride and y_stride elements apart. weight, bias: [cols]; each may be
/// null, for a layer without it: then nothing is multiplied, or nothing added. mean, rstd: [rows],
/// fp32, saved for the backward pass. eps: added to the variance as given, may be 0. The variance
/// is biased (divided by cols), and keeps the digits that summing (x - mean)^2 in fp32 keeps, up to
/// a mean of 10,000 times the deviation. The mean is as exact as a sum of the row in fp32, in any
/// order; where it is large beside the deviation, what that lacks shows in y, and may.
template <typename T>
void layernorm_forward(const T* x, int64_t x_stride, const T* weight, const T* bias, T* y,
                       int64_t y_stride, float* mean, float* rstd, int rows, int cols, float eps,
                       cudaStream_t stream);

/// Exercise 2.2. The gradient of x, from the gradient dy of y:
///
///     wdy[r][c] = weight[c] * dy[r][c]
///     dx[r][c]  = rstd[r] * (wdy[r][c] - mean over c of wdy[r][c]
///                                      - x̂[r][c] * mean over c of (wdy[r][c] * x̂[r][c]))
///
/// dy, x, dx: [rows, cols], rows dy_stride, x_stride and dx_stride elements apart. weight: [cols],
/// may be null. mean, rstd: [rows], fp32, as layernorm_forward saved them; they are taken as given.
template <typename T>
void layernorm_backward_dx(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                           const T* weight, const float* mean, const float* rstd, T* dx,
                           int64_t dx_stride, int rows, int cols, cudaStream_t stream);

/// What a launcher says of the order in which its kernels add up a column.
enum class Summation {
  fixed_order,  // the same at every call: the same inputs give the same result, bit for bit
  any_order     // whoever comes first, as with locks and atomics, also those in shared memory: the
                // last digits may differ
};

/// Exercise 2.3. The gradients of weight and bias, sums over the rows:
///
///     dweight[c] = sum over r of dy[r][c] * x̂[r][c]
///     dbias[c]   = sum over r of dy[r][c]               added up in fp32, rounded to T once
///
/// dy, x: [rows, cols], rows dy_stride and x_stride elements apart. mean, rstd: [rows], fp32, as
/// layernorm_forward saved them; they are taken as given. dweight, dbias: [cols]. With zero rows
/// both are all zeros, and nothing else is read or written.
///
/// scratch: layernorm_scratch_size(rows, cols) fp32 numbers, aligned to 16 bytes, to use as you
/// like; what is in it before the call is undefined. With zero rows there is nothing behind its
/// address. Returns the order in which it adds: fixed_order is a promise, and is checked. With zero
/// rows either will do.
template <typename T>
Summation layernorm_backward_dweight_dbias(const T* dy, int64_t dy_stride, const T* x,
                                           int64_t x_stride, const float* mean, const float* rstd,
                                           T* dweight, T* dbias, float* scratch, int rows, int cols,
                                           cudaStream_t stream);

/// Exercise 2.4. The whole backward pass: what 2.2 and 2.3 give, together. weight is never null.
/// What it returns holds for dx too: fixed_order is a promise, and checked, and with any_order the
/// last digits of dx may differ as well. How often x and dy are loaded is up to you: 2.6 loads them
/// once.
template <typename T>
Summation layernorm_backward(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                             const T* weight, const float* mean, const float* rstd, T* dx,
                             int64_t dx_stride, T* dweight, T* dbias, float* scratch, int rows,
                             int cols, cudaStream_t stream);

/// Exercise 2.5. What layernorm_forward gives, of the same arguments, and with less traffic:
///
///   - Up to 8,192 columns, each element of x is loaded once, and never again.
///   - Where x, weight, bias and y are aligned to 16 bytes (null counts as aligned), and their
///     strides and cols come to multiples of 16 bytes, x is loaded and y is stored 16 bytes at a
///     time, at every width. Where any of these is not so, accesses may have any size.
///
/// What counts as a load is said in exercise 1.4 (onepass/rmsnorm.h).
template <typename T>
void layernorm_forward_fast(const T* x, int64_t x_stride, const T* weight, const T* bias, T* y,
                            int64_t y_stride, float* mean, float* rstd, int rows, int cols,
                            float eps, cudaStream_t stream);

/// Exercise 2.6. What layernorm_backward gives, of the same arguments, and with less traffic:
///
///   - Up to 8,192 columns, each element of dy and of x is loaded once, and never again.
///   - Where dy, x, weight and dx are aligned to 16 bytes, and their strides and cols come to
///     multiples of 16 bytes, dy and x are loaded and dx is stored 16 bytes at a time, at every
///     width. Where any of these is not so, accesses may have any size.
template <typename T>
Summation layernorm_backward_fast(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                                  const T* weight, const float* mean, const float* rstd, T* dx,
                                  int64_t dx_stride, T* dweight, T* dbias, float* scratch, int rows,
                                  int cols, cudaStream_t stream);

}  // namespace onepass
