// For library.cu: do the arguments of a call keep to its contract? Of pointers only whether they
// are null.
#pragma once

#include <onepass/library.h>

#include <climits>
#include <cstdint>
#include <initializer_list>

namespace onepass::library {
namespace {

constexpr int kMostCols = 65536;
constexpr int kMostColsWide = 262144;
constexpr int64_t kMostBytesHeld = 40000;  // of a row for which 1.4 is as fast as 1.7
constexpr int kMostHeadDim = 8192;
constexpr int kMostNormalisedHeadDim = 1024;

bool is_dtype(int dtype) {
  return dtype == ONEPASS_FP32 || dtype == ONEPASS_FP16 || dtype == ONEPASS_BF16;
}

bool fits_int(int64_t a, int64_t b) {
  return b == 0 || a <= INT_MAX / b;
}

bool all(std::initializer_list<const void*> pointers) {
  for (const void* pointer : pointers) {
    if (pointer == nullptr) {
      return false;
    }
  }
  return true;
}

bool at_least(int64_t width, std::initializer_list<int64_t> strides) {
  for (const int64_t stride : strides) {
    if (stride < width) {
      return false;
    }
  }
  return true;
}

bool is_matrix(int dtype, int rows, int cols, int most_cols = kMostCols) {
  return is_dtype(dtype) && rows >= 0 && cols >= 1 && cols <= most_cols;
}

bool is_eps(float eps) {
  return eps >= 0;
}  // no NaN

/// Has RoPE these sizes? Not that the tables have a row for each position.
bool is_rope(int dtype, int table_dtype, int position_bits, int64_t q_stride, int64_t k_stride,
             int tokens, int q_heads, int k_heads, int head_dim, int rotary_dim, int most) {
  const bool own_tables = table_dtype == dtype && position_bits == 64;
  const bool wide_tables =
      table_dtype == ONEPASS_FP32 && (position_bits == 32 || position_bits == 64);
  return is_dtype(dtype) && (own_tables || wide_tables) && tokens >= 0 && q_heads >= 1 &&
         k_heads >= 1 && head_dim >= 2 && head_dim <= most && head_dim % 2 == 0 &&
         rotary_dim >= 2 && rotary_dim <= head_dim && rotary_dim % 2 == 0 &&
         fits_int(static_cast<int64_t>(q_heads) + k_heads, head_dim) &&
         fits_int(static_cast<int64_t>(q_heads) + k_heads, tokens) &&
         q_stride >= static_cast<int64_t>(q_heads) * head_dim &&
         k_stride >= static_cast<int64_t>(k_heads) * head_dim;
}

bool is_plain_rope(int dtype, int tokens, int heads, int head_dim) {
  return is_dtype(dtype) && tokens >= 0 && heads >= 1 && head_dim >= 2 &&
         head_dim <= kMostHeadDim && head_dim % 2 == 0 && fits_int(heads, head_dim) &&
         fits_int(heads, tokens);
}

bool is_batch(int dtype, int batch, int channels, int space, float eps) {
  return is_dtype(dtype) && batch >= 0 && channels >= 0 && space >= 0 && fits_int(batch, space) &&
         fits_int(batch, channels) && is_eps(eps);
}

}  // namespace
}  // namespace onepass::library
