// Exercise 4.1: batch normalisation while training.
//
//     x, y                       [batch, channels, space]
//     weight, bias               [channels]
//     running_mean, running_var  [channels]  fp32, read and written
//     save_mean, save_rstd       [channels]  fp32, written
//
//     mean, var of channel c over all samples and positions, count = batch * space elements
//     save_mean[c] = mean    save_rstd[c] = 1 / sqrt(var + eps), var divided by count
//     running_mean[c], running_var[c] move by momentum towards mean and var, divided by count - 1
//     y[n][c][s] = (x[n][c][s] - mean) * save_rstd[c] * weight[c] + bias[c], rounded to T once
//
// Reduce, then broadcast, as in chapters 1 and 2. Only the direction is new: the elements of a
// channel lie in `batch` stretches of `space` elements, and the next stretch is channels * space
// elements further on. One block has a channel.
//
// Grade it:   make -C build grade_batchnorm
// Read first: docs/04_batchnorm.md, "4.1 The forward pass"

#include <onepass/batchnorm.h>

namespace onepass {

// The most threads that a block can have: where channels are few, so are the blocks, and each has
// to keep its multiprocessor busy alone.
constexpr int kMostThreads = 1024;

/// Where element j of channel c lies, j = 0 ... batch * space - 1: in sample j / space, at position
/// j % space.
__device__ inline int64_t place(unsigned j, int c, int channels, int space) {
  return (static_cast<int64_t>(j / space) * channels + c) * space + j % space;
}

/// The sum of `value` over the 32 lanes of a warp, in every lane (exercise 1.1).
__device__ inline float warp_sum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffff, value, offset);
  }
  return value;
}

/// The sum of `value` over all threads of the block, in every thread (exercise 1.1). All threads
/// call it together.
__device__ inline float block_sum_of(float value) {
  __shared__ float partial[kMostThreads / 32];
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const int warps = blockDim.x / 32;
  value = warp_sum(value);
  __syncthreads();  // somebody may still be reading the sums of the call before
  if (lane == 0) {
    partial[warp] = value;
  }
  __syncthreads();
  return warp_sum(lane < warps ? partial[lane] : 0.0f);
}

/// (1 - t) * a + t * b from the end that is nearer: at t = 0 it is a, and at t = 1 it is b. What is
/// rounded is multiplied by less than a half, and no more than a * (1 - t) and b * t lose.
__device__ inline float between(float a, float b, float t) {
  return t < 0.5f ? a + t * (b - a) : b - (1.0f - t) * (b - a);
}

/// One block for channel blockIdx.x.
template <typename T>
__global__ void __launch_bounds__(kMostThreads)
    batchnorm_forward_kernel(const T* x, const T* weight, const T* bias, T* y, float* running_mean,
                             float* running_var, float* save_mean, float* save_rstd, int batch,
                             int channels, int space, float eps, float momentum) {
  const int c = blockIdx.x;
  const unsigned count = batch * space;  // unsigned, as j below: the last step may pass 2^31

  // TODO 1: the mean. Add up this thread's elements of the channel in fp32: j = threadIdx.x, then
  // every blockDim.x further on, below count. Element j is x[place(j, c, channels, space)].
  // block_sum_of() makes the sum over all threads; all of them must call it. Divide by count. Let
  // one thread save the mean in save_mean[c].
  // [solution 1]
  double sum = 0.0;
  for (int64_t j = static_cast<int64_t>(count) - 1 - threadIdx.x; j >= 0; j -= blockDim.x) {
    sum += static_cast<float>(x[place(static_cast<unsigned>(j), c, channels, space)]);
  }
  const float mean = block_sum_of(static_cast<float>(sum)) / count;
  if (threadIdx.x == 0) {
    save_mean[c] = mean;
  }
  // [end]

  // TODO 2: the variance. Walk over the same elements again and add up the squares of their
  // distances from the mean. Divide by count, add eps, take rsqrtf(), save it in save_rstd[c].
  // [solution 2]
  float squares = 0.0f;
  for (unsigned j = threadIdx.x; j < count; j += blockDim.x) {
    const float distance = static_cast<float>(x[place(j, c, channels, space)]) - mean;
    squares += distance * distance;
  }
  const float variance = block_sum_of(squares) / count;
  const float rstd = rsqrtf(variance + eps);
  if (threadIdx.x == 0) {
    save_rstd[c] = rstd;
  }
  // [end]

  // TODO 3: the running statistics. running_mean[c] becomes (1 - momentum) times what it was plus
  // momentum times the mean; running_var[c] likewise, with the variance that is divided by one
  // less than the count, and without eps.
  // [solution 3]
  if (threadIdx.x == 0) {
    const float unbiased = variance * (static_cast<float>(count) / static_cast<float>(count - 1));
    running_mean[c] = between(running_mean[c], mean, momentum);
    running_var[c] = between(running_var[c], unbiased, momentum);
  }
  // [end]

  // TODO 4: y. Walk over the same elements once more and write to the same places of y: minus the
  // mean, times rstd, times weight[c], plus bias[c], all in fp32, converted to T at the very end.
  // [solution 4]
  const float scale = static_cast<float>(weight[c]);
  const float shift = static_cast<float>(bias[c]);
  for (unsigned j = threadIdx.x; j < count; j += blockDim.x) {
    const int64_t i = place(j, c, channels, space);
    const float normalized = (static_cast<float>(x[i]) - mean) * rstd;
    y[i] = static_cast<T>(normalized * scale + shift);
  }
  // [end]
}

template <typename T>
void batchnorm_forward(const T* x, const T* weight, const T* bias, T* y, float* running_mean,
                       float* running_var, float* save_mean, float* save_rstd, int batch,
                       int channels, int space, float eps, float momentum, cudaStream_t stream) {
  if (batch == 0 || channels == 0 || space == 0) {
    return;  // a grid of no blocks is a launch error
  }
  // As many threads as a channel has elements, in whole warps.
  const int count = batch * space;
  const int threads = count < kMostThreads ? (count + 31) / 32 * 32 : kMostThreads;
  batchnorm_forward_kernel<<<channels, threads, 0, stream>>>(x, weight, bias, y, running_mean,
                                                             running_var, save_mean, save_rstd,
                                                             batch, channels, space, eps, momentum);
}

}  // namespace onepass
