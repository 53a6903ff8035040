// Which barriers are the same one. All threads of a block have to reach the same call, and in
// conditional code the condition has to be the same for all of them (CUDA's programming guide,
// "Thread Block Synchronization Functions"). So two calls are two barriers, even where they stand
// in one line or in one helper; and what the host's compiler makes of one call stays one.
#include "tests/simulator/case_kernels.h"

#define SYNC __syncthreads()
#define SYNC_IN_BOTH(condition) \
  if (condition)                \
    SYNC;                       \
  else                          \
    SYNC

namespace {

using Kernel = void (*)(float* y, unsigned threads);

/// The first threads of 64 take another way than the others.
void part_after(Kernel kernel, unsigned threads) {
  kernel<<<1, 64>>>(zeros<float>(), threads);
}

/// A kernel that tells if some of its 64 threads wait at another barrier than the others, and the
/// same where all go the same way.
#define CASE_OF_TWO_BARRIERS(name, at_first, at_second)                                            \
  CASE(name, "barrier-divergence", {"wait at different barriers (two calls, though in one line)"}, \
       {at_first, at_second}) {                                                                    \
    part_after(name##_kernel, 32);                                                                 \
  }                                                                                                \
  CASE(name##_and_all_at_one, "") {                                                                \
    part_after(name##_kernel, 64);                                                                 \
  }

// clang-format off
__global__ void in_one_line_kernel(float* y, unsigned threads) {
  if (threadIdx.x < threads) { __syncthreads(); } else { __syncthreads(); }  // line
  y[threadIdx.x] = 1;
}
CASE_OF_TWO_BARRIERS(in_one_line, (Who{"line", 0}), (Who{"line", 32}))
// clang-format on

__global__ void by_a_macro_kernel(float* y, unsigned threads) {
  SYNC_IN_BOTH(threadIdx.x < threads);  // macro
  y[threadIdx.x] = 1;
}
CASE_OF_TWO_BARRIERS(by_a_macro, (Who{"macro", 0}), (Who{"macro", 32}))

__global__ void in_a_choice_kernel(float* y, unsigned threads) {
  y[threadIdx.x] = threadIdx.x < threads ? __syncthreads_or(1) : __syncthreads_and(0);  // choice
}
CASE_OF_TWO_BARRIERS(in_a_choice, (Who{"choice", 0}), (Who{"choice", 32}))

__device__ float opposite(float v) {
  __shared__ float s[64];
  s[threadIdx.x] = v;
  __syncthreads();  // helper
  return s[63 - threadIdx.x];
}
__global__ void in_a_helper_kernel(float* y, unsigned threads) {
  float v = 0;
  if (threadIdx.x < threads) {
    v = opposite(1);  // first
  } else {
    v = opposite(2);  // second
  }
  y[threadIdx.x] = v;
}
CASE_OF_TWO_BARRIERS(in_a_helper, (Who{"helper", 0, 0, "first"}), (Who{"helper", 32, 0, "second"}))

__global__ void in_a_helper_twice_in_a_line_kernel(float* y, unsigned threads) {
  y[threadIdx.x] = threadIdx.x < threads ? opposite(1) : opposite(2);  // both
}
CASE_OF_TWO_BARRIERS(in_a_helper_twice_in_a_line, (Who{"helper", 0, 0, "both"}),
                     (Who{"helper", 32, 0, "both"}))

__global__ void in_a_lambda_kernel(float* y, unsigned threads) {
  const auto wait = [&](float v) {
    __syncthreads();  // lambda
    return v;
  };
  y[threadIdx.x] = threadIdx.x < threads ? wait(1) : wait(2);  // both
}
CASE_OF_TWO_BARRIERS(in_a_lambda, (Who{"lambda", 0, 0, "both"}), (Who{"lambda", 32, 0, "both"}))

// ---- One barrier

__device__ float opposite_of_some(float v, bool is_some) {
  if (is_some) v *= 2;
  v = opposite(v);
  return is_some ? v + 1 : v;
}
__global__ void behind_branches(float* y, unsigned threads) {
  const bool is_some = threadIdx.x < threads;
  float v;
  if (is_some) {
    v = y[0];
  } else {
    v = 1;
  }
  __syncthreads();
  switch (threadIdx.x % 3) {
    case 0:
      v = 1;
      break;
    case 1:
      v = 7;
      break;
    default:
      v += 3;
  }
  __syncthreads();
  for (unsigned i = threadIdx.x; i < 100; i += 64) v += y[64 + i];
  v = opposite_of_some(v, is_some);
  if (is_some) goto end;
  v += 1;
end:
  __syncthreads();
  y[threadIdx.x] = v;
}
CASE(barriers_behind_branches, "") {
  part_after(behind_branches, 20);
}

__global__ void in_loops(float* y, unsigned threads) {
  const bool is_some = threadIdx.x < threads;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if (is_some) y[threadIdx.x] = i;
    __syncthreads();
  }
#pragma GCC unroll 3
  for (int i = 0; i < static_cast<int>(gridDim.x) + 6; ++i) {
    if (i == 0 && is_some) y[threadIdx.x] = i;
    __syncthreads();
    if (is_some) continue;
    y[threadIdx.x] = -i;
  }
  int left = 5;
  do {
    y[threadIdx.x] = is_some ? 1 : left;
    __syncthreads();
  } while (--left > 0);
}
CASE(barriers_in_loops, "") {
  part_after(in_loops, 20);
}

template <unsigned kSome>
__device__ void in_an_instance(float* y) {
  y[threadIdx.x] = threadIdx.x < kSome ? 1 : 2;
  __syncthreads();
}
__device__ void in_the_last_call(float* y, int depth) {
  if (depth == 0) {
    __syncthreads();
    return;
  }
  y[threadIdx.x] += 1;
  in_the_last_call(y, depth - 1);
}
__global__ void in_functions(float* y, unsigned threads) {
  in_an_instance<3>(y);
  in_an_instance<5>(y);
  if (threads > 3) in_an_instance<7>(y);
  in_the_last_call(y, 5);
}
CASE(barriers_in_functions, "") {
  part_after(in_functions, 20);
}

// ---- Of a warp: from where its lanes call is not looked at. The PTX manual asks for the same
// instruction with the same mask (vote.sync and its kin), and GPUs since Volta do no more. Newer
// editions of the programming guide ask for the same place in the program, too ("Warp __sync
// Intrinsic Constraints").

__global__ void warps_in_both_arms(float* y, unsigned threads) {
  if (threadIdx.x < threads) {
    __syncwarp();
  } else {
    __syncwarp();
  }
  y[threadIdx.x] = threadIdx.x < threads ? __shfl_sync(~0u, 1.0f, 0) : __shfl_sync(~0u, 1.0f, 31);
}
CASE(warp_operations_in_both_arms, "") {
  part_after(warps_in_both_arms, 16);
}

}  // namespace
