// Launches without <<<>>>: cudaLaunchKernel.
#pragma once

#include "runtime_api.h"

namespace simulator {

template <size_t... indices>
struct Indices {};

template <typename... Parameters, size_t... indices>
void launch_with_pointers(void (*kernel)(Parameters...), const LaunchShape& shape, void** arguments,
                          Indices<indices...>) {
  ShapedKernel<void (*)(Parameters...)>{"cudaLaunchKernel", kernel, shape}(
      Parameters(*static_cast<Parameters*>(arguments[indices]))...);
}

}  // namespace simulator

/// `arguments` holds one pointer for each of the kernel's parameters. The kernel comes with its own
/// type here; as a void* its parameters cannot be told.
template <typename... Parameters>
cudaError_t cudaLaunchKernel(void (*kernel)(Parameters...), dim3 grid, dim3 block, void** arguments,
                             size_t dynamic_shared_bytes = 0, cudaStream_t stream = nullptr) {
  simulator::launch_with_pointers(kernel, {grid, block, dynamic_shared_bytes, stream}, arguments,
                                  simulator::Indices<__integer_pack(sizeof...(Parameters))...>());
  return cudaPeekAtLastError();
}

__attribute__((
    error("pass cudaLaunchKernel the kernel itself, not a void*: the simulator needs "
          "the types of its parameters"))) cudaError_t
cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                 size_t dynamic_shared_bytes = 0, cudaStream_t stream = nullptr);

template <typename T>
cudaError_t cudaLaunchCooperativeKernel(T*, dim3, dim3, void**, size_t = 0,
                                        cudaStream_t = nullptr) {
  static_assert(sizeof(T*) == 0,
                "a cooperative launch cannot be simulated on a CPU, where blocks run one after "
                "another: grade this on a GPU");
  return cudaErrorNotSupported;
}
