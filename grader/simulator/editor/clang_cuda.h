// What clangd reads before an exercise (.clangd), to see CUDA without a toolkit: the simulator's
// headers in the place of NVIDIA's, and clang's own CUDA mode for what C++ does not know, the
// launch kernel<<<...>>>. The compilation of host code is parsed only, so nothing needs to be there
// to link.
#pragma once

// All functions are for host and device both, as in the simulator, but for the ones that <new> of
// clang declares for the device. Standard headers come first: those of clang's that wrap them use
// CUDA's own qualifiers.
#pragma clang force_cuda_host_device begin
#include <stdlib.h>

#include <cstddef>
#pragma clang force_cuda_host_device end
#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#include <new>
#pragma clang force_cuda_host_device begin
#include <algorithm>
#include <complex>
#undef __host__
#undef __device__

// The simulator's under another name: clang has a function of this one, for the device only.
#define __syncthreads onepass_syncthreads
#include <cuda_runtime.h>

// A launch asks for a kernel, and is compiled to a call of the first of these functions; of the
// second where clang finds no toolkit of NVIDIA's.
#undef __global__
#define __global__ __attribute__((global))
extern "C" unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t bytes = 0,
                                                cudaStream_t stream = nullptr);
extern "C" cudaError_t cudaConfigureCall(dim3 grid, dim3 block, size_t bytes = 0,
                                         cudaStream_t stream = nullptr);
