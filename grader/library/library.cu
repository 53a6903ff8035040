// onepass/library.h: which exercise a call goes to, and whether its contract lets it. The table of
// the parts is the driver's.
#include <onepass/batchnorm_scratch.h>
#include <onepass/layernorm_scratch.h>
#include <onepass/library.h>
#include <onepass/rmsnorm_types.h>
#include <onepass/rope_types.h>

#include <cuda_runtime.h>

#include <cstring>
#include <initializer_list>

#include "library/arguments.h"
#include "library/llama_rmsnorm.h"
#include "library/part.h"

namespace onepass::library {

struct Listed {
  const char* exercise;
  const char* says;
  OnepassFunction (*part)();  // null: left out
};

}  // namespace onepass::library

#include ONEPASS_PARTS  // declares parts, and lists them as kParts

namespace onepass::library {
namespace {

const Listed* find(const char* exercise) {
  for (const Listed& one : kParts) {
    if (exercise != nullptr && std::strcmp(one.exercise, exercise) == 0) {
      return &one;
    }
  }
  return nullptr;
}

/// The part's function, null if it was left out. Looked up once.
template <typename Interface>
Interface* function_of(const char* exercise) {
  const Listed* listed = find(exercise);
  return listed != nullptr && listed->part != nullptr ? reinterpret_cast<Interface*>(listed->part())
                                                      : nullptr;
}

#define ONEPASS_FUNCTION_OF(interface, exercise)                             \
  ([] {                                                                      \
    static const auto function = function_of<decltype(interface)>(exercise); \
    return function;                                                         \
  }())

/// What a gradient of zero rows is.
int zeros(int dtype, std::initializer_list<void*> gradients, int cols, OnepassStream stream) {
  const std::size_t bytes = static_cast<std::size_t>(cols) * (dtype == ONEPASS_FP32 ? 4 : 2);
  for (void* gradient : gradients) {
    if (gradient == nullptr) {
      return ONEPASS_BAD_ARGUMENT;
    }
    cudaMemsetAsync(gradient, 0, bytes, stream);
  }
  return static_cast<int>(cudaGetLastError());
}

/// x alone where residual is null.
int rmsnorm_in_llamas_order(int dtype, const void* x, int64_t x_stride, const void* residual,
                            int64_t residual_stride, const void* weight, void* sum,
                            int64_t sum_stride, void* y, int64_t y_stride, float* rstd, int rows,
                            int cols, float eps, OnepassStream stream) {
  return with_type(dtype, [&](auto type) {
    return launch(llama_rmsnorm<decltype(type)>, x, x_stride, residual, residual_stride, weight,
                  sum, sum_stride, y, y_stride, rstd, rows, cols, eps, stream);
  });
}

}  // namespace
}  // namespace onepass::library

using namespace onepass::library;

int onepass_library_version() {
  return ONEPASS_LIBRARY_VERSION;
}

const char* onepass_exercise(int number) {
  constexpr int kCount = sizeof(kParts) / sizeof(kParts[0]);
  return number >= 0 && number < kCount ? kParts[number].exercise : nullptr;
}

int onepass_has(const char* exercise) {
  const Listed* listed = find(exercise);
  return listed != nullptr && listed->part != nullptr ? 1 : 0;
}

const char* onepass_says(const char* exercise) {
  const Listed* listed = find(exercise);
  return listed != nullptr ? listed->says : "there is no exercise of that name";
}

const char* onepass_error_text(int error) {
  return error == ONEPASS_OK           ? "all is well"
         : error == ONEPASS_NOT_PASSED ? "no exercise that takes these arguments is in the library"
         : error == ONEPASS_BAD_ARGUMENT ? "the contract excludes an argument: onepass/library.h"
         : error > 0                     ? cudaGetErrorString(static_cast<cudaError_t>(error))
                                         : "no error of this library's";
}

int onepass_block_sum(int dtype, const void* x, int64_t x_stride, float* sums, int rows, int cols,
                      OnepassStream stream) {
  if (!is_matrix(dtype, rows, cols) || !at_least(cols, {x_stride})) {
    return ONEPASS_BAD_ARGUMENT;
  }
  const auto sum = ONEPASS_FUNCTION_OF(onepass_block_sum, "rmsnorm/block_sum");
  return sum == nullptr    ? ONEPASS_NOT_PASSED
         : rows == 0       ? ONEPASS_OK
         : !all({x, sums}) ? ONEPASS_BAD_ARGUMENT
                           : sum(dtype, x, x_stride, sums, rows, cols, stream);
}

int onepass_rmsnorm_forward(int dtype, const void* x, int64_t x_stride, const void* weight, void* y,
                            int64_t y_stride, float* rstd, int rows, int cols, float eps,
                            OnepassStream stream) {
  if (!is_matrix(dtype, rows, cols, kMostColsWide) || !at_least(cols, {x_stride, y_stride}) ||
      !is_eps(eps)) {
    return ONEPASS_BAD_ARGUMENT;
  }
  const auto fast = ONEPASS_FUNCTION_OF(onepass_rmsnorm_forward, "rmsnorm/forward_fast");
  const auto wide = ONEPASS_FUNCTION_OF(onepass_rmsnorm_forward, "rmsnorm/wide_rows");
  const int64_t bytes = int64_t{cols} * (dtype == ONEPASS_FP32 ? 4 : 2);  // of a row
  const bool is_wide = wide == nullptr ? cols > kMostCols : bytes > kMostBytesHeld;
  auto forward = fast == nullptr || is_wide ? wide : fast;
  if (forward == nullptr && weight != nullptr && cols <= kMostCols) {
    forward = ONEPASS_FUNCTION_OF(onepass_rmsnorm_forward, "rmsnorm/forward");
  }
  return forward == nullptr ? ONEPASS_NOT_PASSED
         : rows == 0        ? ONEPASS_OK
         : !all({x, y, rstd})
             ? ONEPASS_BAD_ARGUMENT
             : forward(dtype, x, x_stride, weight, y, y_stride, rstd, rows, cols, eps, stream);
}

int onepass_rmsnorm_residual(int dtype, const void* x, int64_t x_stride, const void* residual,
                             int64_t residual_stride, const void* weight, void* sum,
                             int64_t sum_stride, void* y, int64_t y_stride, float* rstd, int rows,
                             int cols, float eps, OnepassStream stream) {
  if (!is_matrix(dtype, rows, cols) ||
      !at_least(cols, {x_stride, residual_stride, sum_stride, y_stride}) || !is_eps(eps)) {
    return ONEPASS_BAD_ARGUMENT;
  }
  const auto forward = ONEPASS_FUNCTION_OF(onepass_rmsnorm_residual, "rmsnorm/residual");
  return forward == nullptr ? ONEPASS_NOT_PASSED
         : rows == 0        ? ONEPASS_OK
         : !all({x, residual, weight, sum, y, rstd})
             ? ONEPASS_BAD_ARGUMENT
             : forward(dtype, x, x_stride, residual, residual_stride, weight, sum, sum_stride, y,
                       y_stride, rstd, rows, cols, eps, stream);
}

int onepass_rmsnorm_forward_llama(int dtype, const void* x, int64_t x_stride, const void* weight,
                                  void* y, int64_t y_stride, float* rstd, int rows, int cols,
                                  float eps, OnepassStream stream) {
  if (!is_matrix(dtype, rows, cols, kMostColsWide) || !at_least(cols, {x_stride, y_stride}) ||
      !is_eps(eps)) {
    return ONEPASS_BAD_ARGUMENT;
  }
  const bool passed =
      onepass_has("rmsnorm/forward_fast") != 0 || onepass_has("rmsnorm/forward") != 0;
  return !passed     ? ONEPASS_NOT_PASSED
         : rows == 0 ? ONEPASS_OK
         : !all({x, weight, y, rstd})
             ? ONEPASS_BAD_ARGUMENT
             : rmsnorm_in_llamas_order(dtype, x, x_stride, nullptr, 0, weight, nullptr, 0, y,
                                       y_stride, rstd, rows, cols, eps, stream);
}

int onepass_rmsnorm_residual_llama(int dtype, const void* x, int64_t x_stride, const void* residual,
                                   int64_t residual_stride, const void* weight, void* sum,
                                   int64_t sum_stride, void* y, int64_t y_stride, float* rstd,
                                   int rows, int cols, float eps, OnepassStream stream) {
  if (!is_matrix(dtype, rows, cols, kMostColsWide) ||
      !at_least(cols, {x_stride, residual_stride, sum_stride, y_stride}) || !is_eps(eps)) {
    return ONEPASS_BAD_ARGUMENT;
  }
  return onepass_has("rmsnorm/residual") == 0 ? ONEPASS_NOT_PASSED
         : rows == 0                          ? ONEPASS_OK
         : !all({x, residual, weight, sum, y, rstd})
             ? ONEPASS_BAD_ARGUMENT
             : rmsnorm_in_llamas_order(dtype, x, x_stride, residual, residual_stride, weight, sum,
                                       sum_stride, y, y_stride, rstd, rows, cols, eps, stream);
}

int64_t onepass_rmsnorm_scratch_size(int rows, int cols) {
  return onepass::rmsnorm_scratch_size(rows, cols);
}

int onepass_rmsnorm_backward(int dtype, const void* dy, int64_t dy_stride, const void* x,
                             int64_t x_stride, const void* weight, const float* rstd, void* dx,
                             int64_t dx_stride, void* dweight, float* scratch, int cast_order,
                             int rows, int cols, OnepassStream stream) {
  if (!is_matrix(dtype, rows, cols) || !at_least(cols, {dy_stride, x_stride, dx_stride}) ||
      (cast_order != 0 && cast_order != 1)) {
    return ONEPASS_BAD_ARGUMENT;
  }
  static_assert(static_cast<int>(onepass::CastOrder::llama) == 1);
  auto backward = ONEPASS_FUNCTION_OF(onepass_rmsnorm_backward, "rmsnorm/backward_fast");
  if (backward == nullptr) {
    backward = ONEPASS_FUNCTION_OF(onepass_rmsnorm_backward, "rmsnorm/backward");
  }
  return backward == nullptr ? ONEPASS_NOT_PASSED
         : rows == 0         ? zeros(dtype, {dweight}, cols, stream)
         : !all({dy, x, weight, rstd, dx, dweight, scratch})
             ? ONEPASS_BAD_ARGUMENT
             : backward(dtype, dy, dy_stride, x, x_stride, weight, rstd, dx, dx_stride, dweight,
                        scratch, cast_order, rows, cols, stream);
}

int onepass_layernorm_forward(int dtype, const void* x, int64_t x_stride, const void* weight,
                              const void* bias, void* y, int64_t y_stride, float* mean, float* rstd,
                              int rows, int cols, float eps, OnepassStream stream) {
  if (!is_matrix(dtype, rows, cols) || !at_least(cols, {x_stride, y_stride}) || !is_eps(eps)) {
    return ONEPASS_BAD_ARGUMENT;
  }
  auto forward = ONEPASS_FUNCTION_OF(onepass_layernorm_forward, "layernorm/forward_fast");
  if (forward == nullptr) {
    forward = ONEPASS_FUNCTION_OF(onepass_layernorm_forward, "layernorm/forward");
  }
  return forward == nullptr         ? ONEPASS_NOT_PASSED
         : rows == 0                ? ONEPASS_OK
         : !all({x, y, mean, rstd}) ? ONEPASS_BAD_ARGUMENT
                                    : forward(dtype, x, x_stride, weight, bias, y, y_stride, mean,
                                              rstd, rows, cols, eps, stream);
}

int64_t onepass_layernorm_scratch_size(int rows, int cols) {
  return onepass::layernorm_scratch_size(rows, cols);
}

int onepass_layernorm_backward_dx(int dtype, const void* dy, int64_t dy_stride, const void* x,
                                  int64_t x_stride, const void* weight, const float* mean,
                                  const float* rstd, void* dx, int64_t dx_stride, int rows,
                                  int cols, OnepassStream stream) {
  if (!is_matrix(dtype, rows, cols) || !at_least(cols, {dy_stride, x_stride, dx_stride})) {
    return ONEPASS_BAD_ARGUMENT;
  }
  const auto backward = ONEPASS_FUNCTION_OF(onepass_layernorm_backward_dx, "layernorm/backward_dx");
  return backward == nullptr             ? ONEPASS_NOT_PASSED
         : rows == 0                     ? ONEPASS_OK
         : !all({dy, x, mean, rstd, dx}) ? ONEPASS_BAD_ARGUMENT
                                         : backward(dtype, dy, dy_stride, x, x_stride, weight, mean,
                                                    rstd, dx, dx_stride, rows, cols, stream);
}

int onepass_layernorm_backward_dweight_dbias(int dtype, const void* dy, int64_t dy_stride,
                                             const void* x, int64_t x_stride, const float* mean,
                                             const float* rstd, void* dweight, void* dbias,
                                             float* scratch, int rows, int cols,
                                             OnepassStream stream) {
  if (!is_matrix(dtype, rows, cols) || !at_least(cols, {dy_stride, x_stride})) {
    return ONEPASS_BAD_ARGUMENT;
  }
  const auto backward = ONEPASS_FUNCTION_OF(onepass_layernorm_backward_dweight_dbias,
                                            "layernorm/backward_dweight_dbias");
  return backward == nullptr ? ONEPASS_NOT_PASSED
         : rows == 0         ? zeros(dtype, {dweight, dbias}, cols, stream)
         : !all({dy, x, mean, rstd, dweight, dbias, scratch})
             ? ONEPASS_BAD_ARGUMENT
             : backward(dtype, dy, dy_stride, x, x_stride, mean, rstd, dweight, dbias, scratch,
                        rows, cols, stream);
}

int onepass_layernorm_backward(int dtype, const void* dy, int64_t dy_stride, const void* x,
                               int64_t x_stride, const void* weight, const float* mean,
                               const float* rstd, void* dx, int64_t dx_stride, void* dweight,
                               void* dbias, float* scratch, int rows, int cols,
                               OnepassStream stream) {
  if (!is_matrix(dtype, rows, cols) || !at_least(cols, {dy_stride, x_stride, dx_stride})) {
    return ONEPASS_BAD_ARGUMENT;
  }
  auto backward = ONEPASS_FUNCTION_OF(onepass_layernorm_backward, "layernorm/backward_fast");
  if (backward == nullptr) {
    backward = ONEPASS_FUNCTION_OF(onepass_layernorm_backward, "layernorm/backward_fused");
  }
  if (backward == nullptr || weight == nullptr) {  // the sums first: dx alone may lie on dy
    if (onepass_has("layernorm/backward_dx") == 0) {
      return ONEPASS_NOT_PASSED;
    }
    const int error = onepass_layernorm_backward_dweight_dbias(
        dtype, dy, dy_stride, x, x_stride, mean, rstd, dweight, dbias, scratch, rows, cols, stream);
    return error != ONEPASS_OK
               ? error
               : onepass_layernorm_backward_dx(dtype, dy, dy_stride, x, x_stride, weight, mean,
                                               rstd, dx, dx_stride, rows, cols, stream);
  }
  return rows == 0 ? zeros(dtype, {dweight, dbias}, cols, stream)
         : !all({dy, x, mean, rstd, dx, dweight, dbias, scratch})
             ? ONEPASS_BAD_ARGUMENT
             : backward(dtype, dy, dy_stride, x, x_stride, weight, mean, rstd, dx, dx_stride,
                        dweight, dbias, scratch, rows, cols, stream);
}

int onepass_rope_interleaved(int dtype, void* x, const float* cos, const float* sin, int tokens,
                             int heads, int head_dim, OnepassStream stream) {
  if (!is_plain_rope(dtype, tokens, heads, head_dim)) {
    return ONEPASS_BAD_ARGUMENT;
  }
  const auto turn = ONEPASS_FUNCTION_OF(onepass_rope_interleaved, "rope/interleaved");
  return turn == nullptr       ? ONEPASS_NOT_PASSED
         : tokens == 0         ? ONEPASS_OK
         : !all({x, cos, sin}) ? ONEPASS_BAD_ARGUMENT
                               : turn(dtype, x, cos, sin, tokens, heads, head_dim, stream);
}

int onepass_rope_backward(int dtype, const void* dy, const float* cos, const float* sin, void* dx,
                          int tokens, int heads, int head_dim, OnepassStream stream) {
  if (!is_plain_rope(dtype, tokens, heads, head_dim)) {
    return ONEPASS_BAD_ARGUMENT;
  }
  const auto turn = ONEPASS_FUNCTION_OF(onepass_rope_backward, "rope/backward");
  return turn == nullptr ? ONEPASS_NOT_PASSED
         : tokens == 0   ? ONEPASS_OK
         : !all({dy, cos, sin, dx})
             ? ONEPASS_BAD_ARGUMENT
             : turn(dtype, dy, cos, sin, dx, tokens, heads, head_dim, stream);
}

int onepass_rope(int dtype, int table_dtype, int position_bits, void* q, int64_t q_stride, void* k,
                 int64_t k_stride, const void* positions, const void* cos, const void* sin,
                 int tokens, int q_heads, int k_heads, int head_dim, int rotary_dim, int pairing,
                 OnepassStream stream) {
  constexpr int kSplit = static_cast<int>(onepass::Pairing::split);
  static_assert(kSplit == 1);
  if (!is_rope(dtype, table_dtype, position_bits, q_stride, k_stride, tokens, q_heads, k_heads,
               head_dim, rotary_dim, kMostHeadDim) ||
      (pairing != 0 && pairing != kSplit)) {
    return ONEPASS_BAD_ARGUMENT;
  }
  const auto fast = ONEPASS_FUNCTION_OF(onepass_rope, "rope/fast");
  const auto plain = ONEPASS_FUNCTION_OF(rope_of_split_halves, "rope/half_split");
  return fast == nullptr && (plain == nullptr || pairing != kSplit) ? ONEPASS_NOT_PASSED
         : tokens == 0                                              ? ONEPASS_OK
         : !all({q, k, positions, cos, sin})                        ? ONEPASS_BAD_ARGUMENT
         : fast != nullptr
             ? fast(dtype, table_dtype, position_bits, q, q_stride, k, k_stride, positions, cos,
                    sin, tokens, q_heads, k_heads, head_dim, rotary_dim, pairing, stream)
             : plain(dtype, table_dtype, position_bits, q, q_stride, k, k_stride, positions, cos,
                     sin, tokens, q_heads, k_heads, head_dim, rotary_dim, stream);
}

int onepass_rope_qk_norm(int dtype, int table_dtype, int position_bits, void* q, int64_t q_stride,
                         void* k, int64_t k_stride, const void* q_weight, const void* k_weight,
                         const void* positions, const void* cos, const void* sin, int tokens,
                         int q_heads, int k_heads, int head_dim, int rotary_dim, float eps,
                         OnepassStream stream) {
  if (!is_rope(dtype, table_dtype, position_bits, q_stride, k_stride, tokens, q_heads, k_heads,
               head_dim, rotary_dim, kMostNormalisedHeadDim) ||
      !is_eps(eps)) {
    return ONEPASS_BAD_ARGUMENT;
  }
  const auto turn = ONEPASS_FUNCTION_OF(onepass_rope_qk_norm, "rope/qk_norm");
  return turn == nullptr ? ONEPASS_NOT_PASSED
         : tokens == 0   ? ONEPASS_OK
         : !all({q, k, q_weight, k_weight, positions, cos, sin})
             ? ONEPASS_BAD_ARGUMENT
             : turn(dtype, table_dtype, position_bits, q, q_stride, k, k_stride, q_weight, k_weight,
                    positions, cos, sin, tokens, q_heads, k_heads, head_dim, rotary_dim, eps,
                    stream);
}

int64_t onepass_batchnorm_scratch_size(int batch, int channels, int space) {
  return onepass::batchnorm_scratch_size(batch, channels, space);
}

int onepass_batchnorm_forward(int dtype, const void* x, const void* weight, const void* bias,
                              void* y, float* running_mean, float* running_var, float* save_mean,
                              float* save_rstd, float* scratch, int batch, int channels, int space,
                              float eps, float momentum, OnepassStream stream) {
  if (!is_batch(dtype, batch, channels, space, eps) || !(momentum >= 0 && momentum <= 1) ||
      batch * space == 1) {  // one element has no variance
    return ONEPASS_BAD_ARGUMENT;
  }
  const auto fast = ONEPASS_FUNCTION_OF(onepass_batchnorm_forward, "batchnorm/forward_fast");
  const auto plain = ONEPASS_FUNCTION_OF(batchnorm_without_scratch, "batchnorm/forward");
  if (fast == nullptr && plain == nullptr) {
    return ONEPASS_NOT_PASSED;
  }
  if (channels == 0 || batch * space == 0) {
    return ONEPASS_OK;
  }
  if (!all({x, weight, bias, y, running_mean, running_var, save_mean, save_rstd}) ||
      (fast != nullptr && scratch == nullptr &&
       onepass_batchnorm_scratch_size(batch, channels, space) > 0)) {
    return ONEPASS_BAD_ARGUMENT;
  }
  return fast != nullptr ? fast(dtype, x, weight, bias, y, running_mean, running_var, save_mean,
                                save_rstd, scratch, batch, channels, space, eps, momentum, stream)
                         : plain(dtype, x, weight, bias, y, running_mean, running_var, save_mean,
                                 save_rstd, batch, channels, space, eps, momentum, stream);
}

int onepass_batchnorm_evaluate(int dtype, const void* x, const void* weight, const void* bias,
                               const float* running_mean, const float* running_var, void* y,
                               int batch, int channels, int space, float eps,
                               OnepassStream stream) {
  if (!is_batch(dtype, batch, channels, space, eps)) {
    return ONEPASS_BAD_ARGUMENT;
  }
  const auto evaluate = ONEPASS_FUNCTION_OF(onepass_batchnorm_evaluate, "batchnorm/evaluate");
  return evaluate == nullptr                   ? ONEPASS_NOT_PASSED
         : channels == 0 || batch * space == 0 ? ONEPASS_OK
         : !all({x, weight, bias, running_mean, running_var, y})
             ? ONEPASS_BAD_ARGUMENT
             : evaluate(dtype, x, weight, bias, running_mean, running_var, y, batch, channels,
                        space, eps, stream);
}
