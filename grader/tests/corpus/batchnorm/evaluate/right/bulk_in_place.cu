// Right: blocks that stay, and planes, the positions of one channel of one sample, that come into a
// slot of shared memory by a bulk copy, are computed where they lie, and leave by another. A slot is
// filled again when the copy out of it has read it, one turn later. Planes that are not aligned for
// that, or large, are computed where they are.

#include <cuda/barrier>
#include <cuda/ptx>
#include <onepass/batchnorm.h>

namespace onepass {

namespace ptx = cuda::ptx;
using Barrier = cuda::barrier<cuda::thread_scope_block>;

constexpr int kThreads = 128;
constexpr int kSlots = 3;  // one that comes, one that is computed, one that leaves
constexpr int kMostBytes = 8192;

/// What turns an element of channel c of x into one of y: times x plus.
template <typename T>
__device__ float2 line_of(const T* weight, const T* bias, const float* mean, const float* var,
                          float eps, int c) {
  const float times = rsqrtf(var[c] + eps) * static_cast<float>(weight[c]);
  return {times, static_cast<float>(bias[c]) - mean[c] * times};
}

template <typename T>
__global__ void bulk_kernel(const T* x, const T* weight, const T* bias, const float* mean,
                            const float* var, T* y, int64_t planes, int channels, int space,
                            float eps) {
  extern __shared__ __align__(128) unsigned char memory[];
  __shared__ Barrier full[kSlots];
  T* const slots = reinterpret_cast<T*>(memory);  // [kSlots][space]
  const uint32_t bytes = space * sizeof(T);
  const auto plane_of = [&](int step) {
    return blockIdx.x + static_cast<int64_t>(step) * gridDim.x;
  };
  const auto fetch = [&](int step) {
    if (plane_of(step) < planes) {
      uint64_t* const bar = cuda::device::barrier_native_handle(full[step % kSlots]);
      ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, bar, bytes);
      ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, slots + step % kSlots * space,
                         x + plane_of(step) * space, bytes, bar);
    }
  };
  if (threadIdx.x == 0) {
    for (int slot = 0; slot < kSlots; ++slot) {
      init(&full[slot], 1);
    }
    ptx::fence_proxy_async(ptx::space_shared);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    fetch(0);
    fetch(1);
  }
  for (int step = 0; plane_of(step) < planes; ++step) {
    const int64_t plane = plane_of(step);
    T* const slot = slots + step % kSlots * space;
    const float2 line =
        line_of(weight, bias, mean, var, eps, static_cast<int>(plane % channels));
    full[step % kSlots].wait_parity(step / kSlots % 2 != 0);
    for (int i = threadIdx.x; i < space; i += kThreads) {
      slot[i] = static_cast<T>(static_cast<float>(slot[i]) * line.x + line.y);
    }
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();  // the plane is whole, and known to the copy
    if (threadIdx.x == 0) {
      ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, y + plane * space, slot, bytes);
      ptx::cp_async_bulk_commit_group();
      ptx::cp_async_bulk_wait_group_read(ptx::n32_t<1>());  // the one before has left
      fetch(step + 2);
    }
  }
  if (threadIdx.x == 0) {
    ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
  }
}

template <typename T>
__global__ void plain_kernel(const T* x, const T* weight, const T* bias, const float* mean,
                             const float* var, T* y, int channels, int space, float eps) {
  const int64_t plane = blockIdx.x;
  const float2 line = line_of(weight, bias, mean, var, eps, static_cast<int>(plane % channels));
  for (int i = threadIdx.x; i < space; i += kThreads) {
    const int64_t place = plane * space + i;
    y[place] = static_cast<T>(static_cast<float>(x[place]) * line.x + line.y);
  }
}

template <typename T>
void batchnorm_evaluate(const T* x, const T* weight, const T* bias, const float* running_mean,
                        const float* running_var, T* y, int batch, int channels, int space,
                        float eps, cudaStream_t stream) {
  const int64_t planes = static_cast<int64_t>(batch) * channels;
  if (planes * space == 0) {
    return;
  }
  const size_t bytes = space * sizeof(T);
  const bool fits = reinterpret_cast<uintptr_t>(x) % 16 == 0 &&
                    reinterpret_cast<uintptr_t>(y) % 16 == 0 && bytes % 16 == 0 &&
                    bytes <= kMostBytes;
  const auto most = static_cast<unsigned>(planes);
  if (fits) {
    bulk_kernel<<<most < 132 ? most : 132, kThreads, kSlots * bytes, stream>>>(
        x, weight, bias, running_mean, running_var, y, planes, channels, space, eps);
  } else {
    plain_kernel<<<most, kThreads, 0, stream>>>(x, weight, bias, running_mean, running_var, y,
                                                channels, space, eps);
  }
}

}  // namespace onepass
