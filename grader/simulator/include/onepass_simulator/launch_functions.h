// Launches without <<<>>>: cudaLaunchKernel, cudaLaunchKernelEx, cudaLaunchCooperativeKernel and
// their kin.
//
// All are inlined, so that the launch is known to be at the student's line.
#pragma once

#include <utility>

#include "runtime_api.h"

namespace simulator {

template <typename... Parameters, typename... Arguments>
__forceinline__ cudaError_t launch_function(void (*kernel)(Parameters...), const LaunchShape& shape,
                                            Arguments&&... arguments) {
  const auto* function = reinterpret_cast<const void*>(kernel);
  ShapedKernel<void (*)(Parameters...)>{{kernel_name(function), function}, kernel, shape}(
      Parameters(static_cast<Arguments&&>(arguments))...);
  return cudaPeekAtLastError();
}

template <typename... Parameters, size_t... indices>
__forceinline__ cudaError_t launch_with_pointers(void (*kernel)(Parameters...),
                                                 const LaunchShape& shape, void** arguments,
                                                 std::index_sequence<indices...>) {
  return launch_function(kernel, shape, *static_cast<Parameters*>(arguments[indices])...);
}

inline LaunchShape shape_of(const cudaLaunchConfig_t& config) {
  LaunchShape shape = {config.gridDim, config.blockDim, config.dynamicSmemBytes, config.stream};
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    const cudaLaunchAttribute& attribute = config.attrs[i];
    if (attribute.id == cudaLaunchAttributeCooperative) {
      shape.is_cooperative = attribute.val.cooperative != 0;
    } else if (attribute.id == cudaLaunchAttributeClusterDimension) {
      const auto& size = attribute.val.clusterDim;
      shape.cluster = {size.x, size.y, size.z};
    } else if (attribute.id == cudaLaunchAttributeProgrammaticStreamSerialization) {
      shape.may_begin_early = attribute.val.programmaticStreamSerializationAllowed != 0;
    }
  }
  return shape;
}

}  // namespace simulator

/// `arguments` holds one pointer for each of the kernel's parameters. The kernel comes with its own
/// type here (the rewriter takes a cast to void* away): as a void* its parameters cannot be told.
template <typename... Parameters>
__forceinline__ cudaError_t cudaLaunchKernel(void (*kernel)(Parameters...), dim3 grid, dim3 block,
                                             void** arguments, size_t dynamic_shared_bytes = 0,
                                             cudaStream_t stream = nullptr) {
  return simulator::launch_with_pointers(kernel, {grid, block, dynamic_shared_bytes, stream},
                                         arguments,
                                         std::make_index_sequence<sizeof...(Parameters)>());
}
/// All blocks of the grid must fit on the device at one time: then grid.sync() is theirs.
template <typename... Parameters>
__forceinline__ cudaError_t cudaLaunchCooperativeKernel(void (*kernel)(Parameters...), dim3 grid,
                                                        dim3 block, void** arguments,
                                                        size_t dynamic_shared_bytes = 0,
                                                        cudaStream_t stream = nullptr) {
  return simulator::launch_with_pointers(kernel, {grid, block, dynamic_shared_bytes, stream, true},
                                         arguments,
                                         std::make_index_sequence<sizeof...(Parameters)>());
}
template <typename... Parameters>
__forceinline__ cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config,
                                                void (*kernel)(Parameters...), void** arguments) {
  return simulator::launch_with_pointers(kernel, simulator::shape_of(*config), arguments,
                                         std::make_index_sequence<sizeof...(Parameters)>());
}
template <typename... Parameters, typename... Arguments>
__forceinline__ cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config,
                                               void (*kernel)(Parameters...),
                                               Arguments&&... arguments) {
  return simulator::launch_function(kernel, simulator::shape_of(*config),
                                    static_cast<Arguments&&>(arguments)...);
}

#define ONEPASS_NEEDS_THE_KERNEL(name)                                                      \
  __attribute__((error("pass " name " the kernel itself, not a void*: the simulator needs " \
                       "the types of its parameters")))
ONEPASS_NEEDS_THE_KERNEL("cudaLaunchKernel")
cudaError_t cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                             size_t dynamic_shared_bytes = 0, cudaStream_t stream = nullptr);
ONEPASS_NEEDS_THE_KERNEL("cudaLaunchCooperativeKernel")
cudaError_t cudaLaunchCooperativeKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                                        size_t dynamic_shared_bytes = 0,
                                        cudaStream_t stream = nullptr);
ONEPASS_NEEDS_THE_KERNEL("cudaLaunchKernelExC")
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* kernel,
                                void** arguments);
#undef ONEPASS_NEEDS_THE_KERNEL

// One launch is over before the next begins: that a kernel waits, or lets others begin, is noted.
ONEPASS_INTRINSIC(void, cudaGridDependencySynchronize, (), simulator::wait_for_primary())
ONEPASS_INTRINSIC(void, cudaTriggerProgrammaticLaunchCompletion, (),
                  simulator::trigger_dependents())
