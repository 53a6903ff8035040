// Right: which launcher it is, in an unnamed namespace, is chosen by its address. Past the end of a
// row the last column is read once more and counts for nothing.

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include <onepass/rmsnorm.h>

namespace onepass {
namespace {

namespace cg = cooperative_groups;
constexpr int kThreads = 192;

template <int kLanes, typename T>
__global__ void group_sums(const T* __restrict__ x, int64_t x_stride, float* __restrict__ sums,
                           const int64_t rows, const int cols) {
  const auto group = cg::tiled_partition<kLanes>(cg::this_thread_block());
  const int64_t wanted = static_cast<int64_t>(blockIdx.x) * (kThreads / kLanes) +
                         group.meta_group_rank();
  const int64_t row = wanted < rows ? wanted : rows - 1;  // nobody leaves: the group stays whole
  const T* const p = x + row * x_stride;

  float even = 0.0f, odd = 0.0f;
  const int last = cols - 1;
  for (int c = group.thread_rank(); c < cols; c += 2 * kLanes) {
    const int d = c + kLanes;
    even += static_cast<float>(p[c]);
    odd = fmaf(static_cast<float>(p[d < last ? d : last]), d <= last ? 1.0f : 0.0f, odd);
  }
  const float sum = cg::reduce(group, even + odd, cg::plus<float>{});
  if (group.thread_rank() == 0 && wanted < rows) {
    sums[row] = sum;
  }
}

template <int kLanes, typename T>
void launch(const T* x, int64_t x_stride, float* sums, int64_t rows, int cols, cudaStream_t stream) {
  constexpr int64_t kEach = kThreads / kLanes;
  group_sums<kLanes><<<static_cast<unsigned>((rows + kEach - 1) / kEach), kThreads, 0, stream>>>(
      x, x_stride, sums, rows, cols);
}

}  // namespace

template <typename T>
void block_sum(const T* x, int64_t x_stride, float* sums, int rows, int cols, cudaStream_t stream) {
  if (rows != 0) {
    (cols <= 8 ? launch<4, T> : launch<32, T>)(x, x_stride, sums, rows, cols, stream);
  }
}

}  // namespace onepass
