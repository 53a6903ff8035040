// Chapter 1, RMSNorm: the functions that the exercises define.
//
// Every function is a host launcher: it gets raw device pointers, starts its kernels on `stream`
// and returns without waiting. The caller looks for launch errors afterwards, so a launcher neither
// prints nor throws. Calls on two streams may run at the same time: what a call needs comes with
// its arguments, and nothing is kept in memory that another call uses.
//
// For all functions here:
//   T        float, __half or __nv_bfloat16. All arithmetic is fp32; a result is rounded to T once.
//   rows     0 to 2^31 - 1. Zero rows are legal: no row is read or written.
//   cols     1 to 65,536, unless it says otherwise.
//   stride   the distance between the starts of two rows, in elements, at least cols. Elements
//            between the end of one row and the start of the next belong to somebody else: they
//            are neither read nor written.
//   pointers aligned to their element type, to nothing more. No two buffers overlap, and inputs are
//            not written to, unless it says otherwise.
//   infinity and NaN in an input: what the formula makes infinite or NaN in IEEE arithmetic is one
//            of them, either. What does not depend on such an element, as in other rows, is what
//            it is without. What else depends on it is left open.
#pragma once

#include <cstdint>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

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
/// Everything is fp32, and dx and dweight are rounded to T once, at the very end: also partial sums
/// of dweight are fp32. T(x̂) is the fp32 product x * rstd, rounded to T. dx does not depend on
/// `order`: what rounding does to a derivative is passed over.
///
/// dy, x, dx: [rows, cols], rows dy_stride, x_stride and dx_stride elements apart. weight, dweight:
/// [cols]. rstd: [rows], fp32, as rmsnorm_forward saved it; it is taken as given. With zero rows
/// dweight is all zeros. scratch: rmsnorm_scratch_size(rows, cols) fp32 numbers, aligned to 16
/// bytes, to use freely; what is in it before the call is undefined. With zero rows it has none.
template <typename T>
void rmsnorm_backward(const T* dy, int64_t dy_stride, const T* x, int64_t x_stride, const T* weight,
                      const float* rstd, T* dx, int64_t dx_stride, T* dweight, float* scratch,
                      CastOrder order, int rows, int cols, cudaStream_t stream);

/// Exercise 1.4. What rmsnorm_forward gives, for 1 to 262,144 columns, and with less traffic.
/// weight may be null: then nothing is multiplied, y[r][c] = x[r][c] * rstd[r].
///
///   - Up to 16,384 columns, each element of x is loaded once.
///   - Where x, y and weight, if there is one, are aligned to 16 bytes, and both strides and cols
///     are multiples of 16 bytes, x is loaded and y is stored 16 bytes at a time, at every width.
///     How weight is loaded is yours to choose.
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
///
/// In place: sum may be residual, with the same stride, and y may be x, with the same stride; each
/// by itself, or both. No other buffers overlap.
///
/// Up to 16,384 columns each element of x and residual is loaded once, and sum is not loaded.
template <typename T>
void rmsnorm_residual(const T* x, int64_t x_stride, const T* residual, int64_t residual_stride,
                      const T* weight, T* sum, int64_t sum_stride, T* y, int64_t y_stride,
                      float* rstd, int rows, int cols, float eps, cudaStream_t stream);

}  // namespace onepass
