// A quantising epilogue: a row of floats becomes fp8, with a scale so that its largest is the
// largest of the format. The mistakes are those of the memory, which have findings of their own,
// and those of the numbers, which a kernel here asserts.
#include <cuda_fp8.h>

#include <cmath>

#include "tests/simulator/case_kernels.h"

namespace {

constexpr int kCols = 128;
constexpr float kMost = 448.0f;  // of e4m3

/// The largest magnitude of a block of kCols threads.
__device__ float block_max(float value, bool waits) {
  __shared__ float largest[kCols / 32];
  for (int offset = 16; offset > 0; offset /= 2) {
    value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, offset));
  }
  if (threadIdx.x % 32 == 0) largest[threadIdx.x / 32] = value;
  if (waits) __syncthreads();
  float most = 0.0f;
  for (int warp = 0; warp < kCols / 32; ++warp) most = fmaxf(most, largest[warp]);  // here
  return most;
}

// ---- Numbers

enum class Fault {
  none,
  no_scale,
  inverted_scale,
  no_saturation,
  clamp_loses_nan,
  zero_row,
  rounded_twice,
  other_format,
  as_integer,
  wrong_order,
};

/// What a row is, times `by`: x counts from 0 to kCols - 1.
template <Fault fault>
__global__ void quantised(const float* x, __nv_fp8_storage_t* y, float by) {
  const float value = by * x[threadIdx.x];
  float most = block_max(fabsf(value), true);
  if (fault != Fault::zero_row) most = fmaxf(most, 1e-12f);
  float scale = most / kMost;
  if (fault == Fault::no_scale) scale = 1.0f;
  if (fault == Fault::inverted_scale) scale = kMost / most;
  if (fault == Fault::no_saturation) scale = most / 512.0f;
  const float scaled = value / scale;
  __nv_fp8_storage_t bits = __nv_cvt_float_to_fp8(
      scaled, fault == Fault::no_saturation ? __NV_NOSAT : __NV_SATFINITE, __NV_E4M3);
  if (fault == Fault::as_integer) bits = static_cast<__nv_fp8_storage_t>(scaled);
  y[threadIdx.x] = bits;
  const auto read_as = fault == Fault::other_format ? __NV_E5M2 : __NV_E4M3;
  const float back = __half2float(__half(__nv_cvt_fp8_to_halfraw(bits, read_as))) * scale;
  // Half a unit of four bits, or of the smallest number.
  assert(fabsf(back - value) <= fmaxf(fabsf(value) / 16.0f, most / kMost * 0x1p-10f));  // here
}
CASE(fp8_row_with_a_scale, "") {
  quantised<Fault::none><<<1, kCols>>>(counting(), zeros<__nv_fp8_storage_t>(), 100.0f);
}
CASE(fp8_row_of_zeros, "") {
  quantised<Fault::none><<<1, kCols>>>(counting(), zeros<__nv_fp8_storage_t>(), 0.0f);
}
CASE(fp8_row_without_its_scale, "assert") {
  quantised<Fault::no_scale><<<1, kCols>>>(counting(), zeros<__nv_fp8_storage_t>(), 100.0f);
}
CASE(fp8_row_times_its_scale, "assert") {
  quantised<Fault::inverted_scale><<<1, kCols>>>(counting(), zeros<__nv_fp8_storage_t>(), 100.0f);
}
CASE(fp8_beyond_the_largest_without_saturation, "assert") {
  quantised<Fault::no_saturation><<<1, kCols>>>(counting(), zeros<__nv_fp8_storage_t>(), 100.0f);
}
CASE(fp8_row_of_zeros_divided_by_zero, "assert") {
  quantised<Fault::zero_row><<<1, kCols>>>(counting(), zeros<__nv_fp8_storage_t>(), 0.0f);
}
CASE(fp8_e4m3_read_as_e5m2, "assert") {
  quantised<Fault::other_format><<<1, kCols>>>(counting(), zeros<__nv_fp8_storage_t>(), 100.0f);
}
CASE(fp8_by_a_cast_to_an_integer, "assert") {
  quantised<Fault::as_integer><<<1, kCols>>>(counting(), zeros<__nv_fp8_storage_t>(), 100.0f);
}

/// A little more than halfway between 1 and 1.125: a half keeps no more than halfway.
template <Fault fault>
__global__ void rounded(const float* x) {
  const float value = 1.0625f + x[threadIdx.x] * 0x1p-13f;
  const __nv_fp8_e4m3 y =
      fault == Fault::rounded_twice ? __nv_fp8_e4m3(__half(value)) : __nv_fp8_e4m3(value);
  assert(static_cast<float>(y) == (x[threadIdx.x] > 0.0f ? 1.125f : 1.0f));  // here
}
CASE(fp8_rounded_once, "") {
  rounded<Fault::none><<<1, 3>>>(counting());
}
CASE(fp8_rounded_through_half, "assert") {
  rounded<Fault::rounded_twice><<<1, 3>>>(counting());
}

template <Fault fault>
__global__ void not_a_number(const float* x) {
  const float value = x[0] / x[0];
  const float kept = fault == Fault::clamp_loses_nan ? fminf(fmaxf(value, -kMost), kMost) : value;
  assert((__nv_fp8_e4m3(kept).__x & 0x7f) == 0x7f);  // here
}
CASE(fp8_of_a_nan, "") {
  not_a_number<Fault::none><<<1, 1>>>(zeros<float>());
}
CASE(fp8_of_a_nan_that_was_clamped, "assert") {
  not_a_number<Fault::clamp_loses_nan><<<1, 1>>>(zeros<float>());
}

template <Fault fault>
__global__ void packed(const float* x, __nv_fp8_storage_t* y) {
  const float4 v = reinterpret_cast<const float4*>(x)[threadIdx.x];
  const float4 turned = {v.w, v.z, v.y, v.x};
  const __nv_fp8x4_e4m3 four(fault == Fault::wrong_order ? turned : v);
  reinterpret_cast<__nv_fp8x4_e4m3*>(y)[threadIdx.x] = four;
  __nv_fp8_e4m3 second;
  second.__x = y[4 * threadIdx.x + 1];
  assert(static_cast<float>(second) == 4.0f * threadIdx.x + 1.0f);  // here
}
CASE(fp8_four_at_a_time, "") {
  packed<Fault::none><<<1, 4>>>(counting(), zeros<__nv_fp8_storage_t>(2));
}
CASE(fp8_four_in_the_wrong_order, "assert") {
  packed<Fault::wrong_order><<<1, 4>>>(counting(), zeros<__nv_fp8_storage_t>(2));
}

// ---- Memory

__global__ void with_a_barrier(const float* x, __nv_fp8_e4m3* y, bool waits) {
  const float value = x[threadIdx.x];
  y[threadIdx.x] = __nv_fp8_e4m3(value / (block_max(fabsf(value), waits) / kMost));
}
CASE(fp8_scale_of_the_block, "") {
  with_a_barrier<<<1, kCols>>>(counting(), zeros<__nv_fp8_e4m3>(), true);
}
CASE(fp8_scale_before_the_barrier, "shared-race", {"largest"}) {
  with_a_barrier<<<1, kCols>>>(counting(), zeros<__nv_fp8_e4m3>(), false);
}

/// Rows of `cols`, four elements a thread.
__global__ void rows_of_four(__nv_fp8_storage_t* y, int stride, int cols, int step) {
  for (int col = 4 * threadIdx.x; col < cols; col += 4 * blockDim.x) {
    const __nv_fp8x4_e4m3 four(float4{1.0f + blockIdx.x, 2.0f, 3.0f, 4.0f});
    *reinterpret_cast<__nv_fp8x4_e4m3*>(&y[blockIdx.x * stride + step * col]) = four;  // here
  }
}
CASE(fp8_rows_of_whole_vectors, "") {
  rows_of_four<<<4, 32>>>(zeros<__nv_fp8_storage_t>(), 128, 128, 1);
}
CASE(fp8_rows_that_no_vector_fits, "misaligned", {"4"}, {{"here", 0, 1}}) {
  rows_of_four<<<4, 32>>>(zeros<__nv_fp8_storage_t>(), 126, 124, 1);
}
CASE(fp8_index_in_bytes_of_floats, "out-of-bounds-global") {
  __nv_fp8_storage_t* end = zeros<__nv_fp8_storage_t>() + kZeroBytes;
  rows_of_four<<<1, 32>>>(end - 128, 0, 128, 4);
}
CASE(fp8_vector_past_the_row, "warning: global-race", {"They write different values"},
     {{"here", 31, 0}, {"here", 0, 1}}) {
  rows_of_four<<<2, 32>>>(zeros<__nv_fp8_storage_t>(), 124, 126, 1);
}

__global__ void sixteen_at_a_time(uint4* y) {
  y[threadIdx.x] = uint4{0x38383838u, 0x38383838u, 0x38383838u, 0x38383838u};  // here
}
CASE(fp8_sixteen_at_a_time, "") {
  sixteen_at_a_time<<<1, 32>>>(zeros<uint4>());
}
CASE(fp8_sixteen_from_the_eighth_on, "misaligned", {"16"}) {
  sixteen_at_a_time<<<1, 32>>>(reinterpret_cast<uint4*>(zeros<char>() + 8));
}

/// Its own byte into a word that it shares with a neighbour.
__global__ void byte_of_a_pair(__nv_fp8x2_storage_t* pairs, __nv_fp8_storage_t* bytes) {
  const __nv_fp8_e4m3 value(1.0f);
  if (bytes != nullptr) {
    bytes[threadIdx.x] = value.__x;
  } else {
    const int shift = threadIdx.x % 2 * 8;
    pairs[threadIdx.x / 2] |= static_cast<__nv_fp8x2_storage_t>(value.__x << shift);  // here
  }
}
CASE(fp8_each_byte_by_one_thread, "") {
  byte_of_a_pair<<<1, 32>>>(nullptr, zeros<__nv_fp8_storage_t>());
}
CASE(fp8_byte_put_into_a_pair, "global-race") {
  byte_of_a_pair<<<1, 32>>>(zeros<__nv_fp8x2_storage_t>(), nullptr);
}

/// fp8 into the memory of the floats that it is made of.
__global__ void in_place(const float* x, __nv_fp8_e4m3* y, bool waits) {
  const float value = x[threadIdx.x];  // reads
  if (waits) __syncthreads();
  y[threadIdx.x] = __nv_fp8_e4m3(value);  // writes
}
CASE(fp8_in_place_behind_a_barrier, "") {
  float* x = counting();
  in_place<<<1, kCols>>>(x, reinterpret_cast<__nv_fp8_e4m3*>(x), true);
}
CASE(fp8_in_place_at_once, "global-race", {}, {{"reads", 8}, {"writes", 32}}) {
  float* x = counting();
  in_place<<<1, kCols>>>(x, reinterpret_cast<__nv_fp8_e4m3*>(x), false);
}

/// The tensor's scale, which all blocks find together.
__global__ void by_tensor(const float* x, int* most, __nv_fp8_e4m3* y) {
  const int i = blockIdx.x * kCols + threadIdx.x;
  const float of_block = block_max(fabsf(x[i]), true);
  if (threadIdx.x == 0) atomicMax(most, __float_as_int(of_block));  // writes the most
  __syncthreads();
  const float scale = __int_as_float(*most) / kMost;  // reads the most
  y[i] = __nv_fp8_e4m3(x[i] / scale);
}
CASE(fp8_scale_of_all_blocks_in_one_launch, "global-race", {},
     {{"reads the most", 0, 0}, {"writes the most", 0, 1}}) {
  by_tensor<<<4, kCols>>>(counting(), zeros<int>(2), zeros<__nv_fp8_e4m3>());
}

/// What is left of a row behind the last four is not written.
__global__ void whole_vectors_only(__nv_fp8_storage_t* y, int cols, bool tail) {
  for (int col = 4 * threadIdx.x; col + 3 < cols; col += 4 * blockDim.x) {
    *reinterpret_cast<__nv_fp8x4_e4m3*>(&y[col]) = __nv_fp8x4_e4m3(float4{1, 1, 1, 1});
  }
  if (tail && threadIdx.x < cols % 4) y[cols / 4 * 4 + threadIdx.x] = 0x38;
}
__global__ void read_back(const __nv_fp8_e4m3* y, float* back, int cols) {
  if (threadIdx.x < cols) back[threadIdx.x] = static_cast<float>(y[threadIdx.x]);  // here
}
void quantise_and_read(bool tail) {
  __nv_fp8_storage_t* y = nullptr;
  cudaMalloc(&y, 102);
  whole_vectors_only<<<1, 32>>>(y, 102, tail);
  read_back<<<1, kCols>>>(reinterpret_cast<__nv_fp8_e4m3*>(y), zeros<float>(), 102);
  cudaFree(y);
}
CASE(fp8_tail_of_a_row, "") {
  quantise_and_read(true);
}
CASE(fp8_tail_that_is_forgotten, "uninitialised-global", {}, {{"here", 100}}) {
  quantise_and_read(false);
}

}  // namespace
