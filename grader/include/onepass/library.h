/* The exercises that passed, as one shared library with a plain C interface: `onepass library`
 * makes it (docs/05_model.md). For C, C++, Python's ctypes and whatever else can call C.
 *
 * Each function is a launcher, and what a chapter's header says of it holds: formulas, shapes,
 * strides, aliasing, scratch. That header is named beside it, and what holds for all stands in
 * onepass/launchers.h. Besides:
 *
 *   pointers   of the device that is current. Of a tensor without elements any will do, null too.
 *   dtype      an OnepassDtype: the type of every void*
 *   stream     a cudaStream_t; null is the default stream
 *   result     ONEPASS_OK, a negative OnepassError, or the cudaError_t, which is positive, that
 * CUDA has for a launch. Nothing is printed, nothing thrown, and nothing waits. which      Where
 * two exercises define the same function, the fast one, if it passed and takes these arguments,
 * else the plain one. onepass_says() tells of each. threads    Any may call at any time. */
#ifndef ONEPASS_LIBRARY_H
#define ONEPASS_LIBRARY_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define ONEPASS_PUBLIC __attribute__((visibility("default")))
#else
#define ONEPASS_PUBLIC
#endif

typedef struct CUstream_st* OnepassStream;

typedef enum { ONEPASS_FP32 = 0, ONEPASS_FP16 = 1, ONEPASS_BF16 = 2 } OnepassDtype;

typedef enum {
  ONEPASS_OK = 0,
  ONEPASS_NOT_PASSED = -1, /* no exercise that takes these arguments had passed: onepass_says() */
  ONEPASS_BAD_ARGUMENT =
      -2 /* a null pointer, or a size, stride or number that the contract excludes */
} OnepassError;

/* ---- What is in this library ---- */

/* Changes when the functions or their arguments do. */
#define ONEPASS_LIBRARY_VERSION 2
ONEPASS_PUBLIC int onepass_library_version(void);

/* "rmsnorm/forward" for 0, and so on, in the workbook's order; null behind the last. */
ONEPASS_PUBLIC const char* onepass_exercise(int number);

/* 1 if that exercise is in here, else 0. */
ONEPASS_PUBLIC int onepass_has(const char* exercise);

/* "passed", or why it was left out: "not started", "failed: <the first check that did>". For a name
 * that no exercise has, that. */
ONEPASS_PUBLIC const char* onepass_says(const char* exercise);

/* A sentence without its full stop, of any result. */
ONEPASS_PUBLIC const char* onepass_error_text(int error);

/* ---- 1. RMSNorm: onepass/rmsnorm.h ---- */

/* 1.1 */
ONEPASS_PUBLIC int onepass_block_sum(int dtype, const void* x, int64_t x_stride, float* sums,
                                     int rows, int cols, OnepassStream stream);

/* 1.4 for rows of up to 40,000 bytes and 1.7 beyond, or the one of them that is there; else 1.2. A
 * null weight needs 1.4 or 1.7, and more than 65,536 columns need 1.7. */
ONEPASS_PUBLIC int onepass_rmsnorm_forward(int dtype, const void* x, int64_t x_stride,
                                           const void* weight, void* y, int64_t y_stride,
                                           float* rstd, int rows, int cols, float eps,
                                           OnepassStream stream);

/* 1.5 */
ONEPASS_PUBLIC int onepass_rmsnorm_residual(int dtype, const void* x, int64_t x_stride,
                                            const void* residual, int64_t residual_stride,
                                            const void* weight, void* sum, int64_t sum_stride,
                                            void* y, int64_t y_stride, float* rstd, int rows,
                                            int cols, float eps, OnepassStream stream);

/* No exercise's, but the library's own, for the models: LLaMA's cast order, in which x * rstd, or
 * sum * rstd, is rounded to the type before it is multiplied by the weight (1.3's llama). Else
 * as 1.2 and as 1.5, for 1 to 262,144 columns. The first is there where 1.4 or 1.2 is, the second
 * where 1.5 is. */
ONEPASS_PUBLIC int onepass_rmsnorm_forward_llama(int dtype, const void* x, int64_t x_stride,
                                                 const void* weight, void* y, int64_t y_stride,
                                                 float* rstd, int rows, int cols, float eps,
                                                 OnepassStream stream);
ONEPASS_PUBLIC int onepass_rmsnorm_residual_llama(int dtype, const void* x, int64_t x_stride,
                                                  const void* residual, int64_t residual_stride,
                                                  const void* weight, void* sum, int64_t sum_stride,
                                                  void* y, int64_t y_stride, float* rstd, int rows,
                                                  int cols, float eps, OnepassStream stream);

/* How many fp32 numbers scratch has, aligned to 16 bytes. */
ONEPASS_PUBLIC int64_t onepass_rmsnorm_scratch_size(int rows, int cols);

/* 1.6, else 1.3. cast_order: 0 where the weight was multiplied in fp32, 1 for LLaMA's order. */
ONEPASS_PUBLIC int onepass_rmsnorm_backward(int dtype, const void* dy, int64_t dy_stride,
                                            const void* x, int64_t x_stride, const void* weight,
                                            const float* rstd, void* dx, int64_t dx_stride,
                                            void* dweight, float* scratch, int cast_order, int rows,
                                            int cols, OnepassStream stream);

/* ---- 2. LayerNorm: onepass/layernorm.h ---- */

/* 2.5, else 2.1. weight and bias may each be null. */
ONEPASS_PUBLIC int onepass_layernorm_forward(int dtype, const void* x, int64_t x_stride,
                                             const void* weight, const void* bias, void* y,
                                             int64_t y_stride, float* mean, float* rstd, int rows,
                                             int cols, float eps, OnepassStream stream);

ONEPASS_PUBLIC int64_t onepass_layernorm_scratch_size(int rows, int cols);

/* 2.6, else 2.4, else 2.2 and 2.3 one after the other. A null weight needs these two. */
ONEPASS_PUBLIC int onepass_layernorm_backward(int dtype, const void* dy, int64_t dy_stride,
                                              const void* x, int64_t x_stride, const void* weight,
                                              const float* mean, const float* rstd, void* dx,
                                              int64_t dx_stride, void* dweight, void* dbias,
                                              float* scratch, int rows, int cols,
                                              OnepassStream stream);

/* 2.2. weight may be null. */
ONEPASS_PUBLIC int onepass_layernorm_backward_dx(int dtype, const void* dy, int64_t dy_stride,
                                                 const void* x, int64_t x_stride,
                                                 const void* weight, const float* mean,
                                                 const float* rstd, void* dx, int64_t dx_stride,
                                                 int rows, int cols, OnepassStream stream);

/* 2.3 */
ONEPASS_PUBLIC int onepass_layernorm_backward_dweight_dbias(int dtype, const void* dy,
                                                            int64_t dy_stride, const void* x,
                                                            int64_t x_stride, const float* mean,
                                                            const float* rstd, void* dweight,
                                                            void* dbias, float* scratch, int rows,
                                                            int cols, OnepassStream stream);

/* ---- 3. RoPE: onepass/rope.h ---- */

/* 3.1 and 3.2 */
ONEPASS_PUBLIC int onepass_rope_interleaved(int dtype, void* x, const float* cos, const float* sin,
                                            int tokens, int heads, int head_dim,
                                            OnepassStream stream);
ONEPASS_PUBLIC int onepass_rope_backward(int dtype, const void* dy, const float* cos,
                                         const float* sin, void* dx, int tokens, int heads,
                                         int head_dim, OnepassStream stream);

/* 3.4, else 3.3 where the pairs are split halves. table_dtype, of cos and sin, and position_bits:
 * what is graded, ONEPASS_FP32 with 32 or 64, or what dtype is with 64. pairing: 0 interleaved, 1
 * split halves. */
ONEPASS_PUBLIC int onepass_rope(int dtype, int table_dtype, int position_bits, void* q,
                                int64_t q_stride, void* k, int64_t k_stride, const void* positions,
                                const void* cos, const void* sin, int tokens, int q_heads,
                                int k_heads, int head_dim, int rotary_dim, int pairing,
                                OnepassStream stream);

/* 3.5. table_dtype and position_bits as above. */
ONEPASS_PUBLIC int onepass_rope_qk_norm(int dtype, int table_dtype, int position_bits, void* q,
                                        int64_t q_stride, void* k, int64_t k_stride,
                                        const void* q_weight, const void* k_weight,
                                        const void* positions, const void* cos, const void* sin,
                                        int tokens, int q_heads, int k_heads, int head_dim,
                                        int rotary_dim, float eps, OnepassStream stream);

/* ---- 4. BatchNorm: onepass/batchnorm.h ---- */

ONEPASS_PUBLIC int64_t onepass_batchnorm_scratch_size(int batch, int channels, int space);

/* 4.3, else 4.1, which does not use scratch. */
ONEPASS_PUBLIC int onepass_batchnorm_forward(int dtype, const void* x, const void* weight,
                                             const void* bias, void* y, float* running_mean,
                                             float* running_var, float* save_mean, float* save_rstd,
                                             float* scratch, int batch, int channels, int space,
                                             float eps, float momentum, OnepassStream stream);

/* 4.2 */
ONEPASS_PUBLIC int onepass_batchnorm_evaluate(int dtype, const void* x, const void* weight,
                                              const void* bias, const float* running_mean,
                                              const float* running_var, void* y, int batch,
                                              int channels, int space, float eps,
                                              OnepassStream stream);

#ifdef __cplusplus
}
#endif

#endif
