// Chapter 1, RMSNorm: the functions that the exercises define.
//
// What holds for all functions of all chapters (streams, errors, pointers, strides, precision, NaN)
// stands in onepass/launchers.h. Here besides:
//   rows     0 to 2^24
//   cols     1 to 65,536, unless it says otherwise
#pragma once

#include <onepass/launchers.h>
#include <onepass/rmsnorm_types.h>

namespace onepass {

/// Exercise 1.1. The sum of each row:
///
///     sums[r] = x[r][0] + x[r][1] + ... + x[r][cols - 1]
///
/// x: [rows, cols], rows x_stride elements apart. sums: [rows], fp32.
template <typename T>
void block_sum(const T* x, int64_t x_stride, float* sums, int rows, int cols, cudaStream_t stream);

/// Exercise 1.2. RMSNorm (Zhang and Sennrich, "Root Mean Square Layer Normalization", 2019, eq. 4),
/// with the usual eps inside the root:
///
///     rstd[r] = 1 / sqrt(mean over c of x[r][c]^2 + eps)
///     y[r][c] = x[r][c] * rstd[r] * weight[c]          computed in fp32, rounded to T once
///
/// x, y: [rows, cols], rows x_stride and y_stride elements apart. weight: [cols].
/// rstd: [rows], fp32, saved for the backward pass. eps: added to the mean as given, may be 0.
template <typename T>
void rmsnorm_forward(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                     float* rstd, int rows, int cols, float eps, cudaStream_t stream);

/// Exercise 1.3. The gradients of x and of the weight, from the gradient dy of y:
///
///     x̂[r][c]    = x[r][c] * rstd[r]
///     wdy[r][c]  = weight[c] * dy[r][c]
///     dx[r][c]   = rstd[r] * (wdy[r][c] - x̂[r][c] * mean over c of (wdy[r][c] * x̂[r][c]))
///     dweight[c] = sum over r of dy[r][c] * x̂[r][c]      where order is weight_in_fp32
///     dweight[c] = sum over r of dy[r][c] * T(x̂[r][c])   where order is llama
///
/// dx and dweight are rounded to T once, at the very end: also partial sums of dweight are fp32.
/// T(x̂) is the fp32 product x * rstd, rounded to T. dx does not depend on `order`: what rounding
/// does to a derivative is passed over. No order of additions is asked for, so atomics will do: two
/// calls may differ in the last digits of dweight. How often x and dy are loaded is up to you: 1.6
/// loads them once.
///
/// dy, x, dx: [rows, cols], rows dy_stride, x_stride and dx_stride elements apart. weight, dweight:
/// [cols]. rstd: [rows], fp32, as rmsnorm_forward saved it; it is taken as given. With zero rows
/// dweight is all zeros, and nothing else is read or written.
///
/// scratch: rmsnorm_scratch_size(rows, cols) fp32 numbers, aligned to 16 bytes, to use as you like;
/// what is in it before the call is undefined. With zero rows there is nothing behind its address.
template <typename T>
void rmsnorm_backward(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride, const T* weight,
                      const float* rstd, T* dx, int64_t dx_stride, T* dweight, float* scratch,
                      CastOrder order, int rows, int cols, cudaStream_t stream);

/// Exercise 1.4. What rmsnorm_forward gives, with less traffic. weight may be null: then nothing is
/// multiplied, y[r][c] = x[r][c] * rstd[r]. Up to 16,384 columns
///
///   - each element of x is loaded once, and never again;
///   - where x, y and weight, if there is one, are aligned to 16 bytes, and x_stride, y_stride and
///     cols come to multiples of 16 bytes (of 4 elements in fp32, of 8 in 16 bits), x is loaded and
///     y is stored 16 bytes at a time. Where any of these is not so, weight's address alone for
///     instance, or the stride of a single row, accesses may have any size. How weight is loaded is
///     yours to choose.
///
/// Wider rows may be loaded twice, in accesses of any size (1.7 does better).
///
/// A copy from x into shared memory is a load, and one from there to y a store, of 16 bytes at a
/// time if each is of 16 bytes (cp.async) or in bulk (cp.async.bulk). To ask for x ahead of time
/// (prefetch) is no load.
template <typename T>
void rmsnorm_forward_fast(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                          float* rstd, int rows, int cols, float eps, cudaStream_t stream);

/// Exercise 1.5. The residual connection around a layer, and the RMSNorm that follows it:
///
///     sum[r][c] = T(x[r][c] + residual[r][c])
///     rstd[r]   = 1 / sqrt(mean over c of sum[r][c]^2 + eps)
///     y[r][c]   = sum[r][c] * rstd[r] * weight[c]          computed in fp32, rounded to T once
///
/// It is the *rounded* sum that is normalised, the one that is stored: so vLLM and Liger-Kernel do
/// it, and so a backward pass finds what the forward pass saw. (FlashAttention and FlashInfer
/// normalise the fp32 sum, before it is rounded.)
///
/// x, residual, sum, y: [rows, cols], each with its stride. weight: [cols]. rstd: [rows], fp32.
/// eps: as in 1.2. sum has no room for errors: x + residual is rounded to the nearest number.
///
/// In place: sum may be residual, with the same stride, and y may be x, with the same stride; each
/// by itself, or both. No other buffers overlap; x and residual are two tensors.
///
/// Up to 16,384 columns each element of x and residual is loaded once, and never again, and sum is
/// not loaded. Where all tensors, their strides and cols are multiples of 16 bytes, x and residual
/// are loaded and sum and y are stored 16 bytes at a time, as in 1.4, which also says what counts
/// as a load.
template <typename T>
void rmsnorm_residual(const T* x, int64_t x_stride, const T* residual, int64_t residual_stride,
                      const T* weight, T* sum, int64_t sum_stride, T* y, int64_t y_stride,
                      float* rstd, int rows, int cols, float eps, cudaStream_t stream);

/// Exercise 1.6. What rmsnorm_backward gives, of the same arguments, and with less traffic:
///
///   - Up to 8,192 columns, each element of dy and of x is loaded once, and never again.
///   - Where dy, x, weight and dx are aligned to 16 bytes, and their strides and cols come to
///     multiples of 16 bytes, dy and x are loaded and dx is stored 16 bytes at a time, at every
///     width. Where any of these is not so, accesses may have any size.
///
/// What counts as a load is said in 1.4.
template <typename T>
void rmsnorm_backward_fast(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride,
                           const T* weight, const float* rstd, T* dx, int64_t dx_stride, T* dweight,
                           float* scratch, CastOrder order, int rows, int cols,
                           cudaStream_t stream);

/// Exercise 1.7, optional. What rmsnorm_forward_fast gives, of the same arguments, for 1 to 262,144
/// columns. On a GPU with clusters what 1.4 promises up to 16,384 columns holds at every width:
/// each element of x is loaded once, and aligned rows are loaded and stored 16 bytes at a time.
template <typename T>
void rmsnorm_wide_rows(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                       float* rstd, int rows, int cols, float eps, cudaStream_t stream);

}  // namespace onepass
