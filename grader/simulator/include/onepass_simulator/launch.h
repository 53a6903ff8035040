// What the rewriter makes of kernel<<<grid, block, bytes, stream>>>(arguments):
//
//     ONEPASS_LAUNCH(kernel)(grid, block, bytes, stream)(arguments)
//
// The kernel's name stands inside a generic lambda. So the call of each thread is an ordinary call,
// with template deduction, default arguments and conversions, and the arguments are copied, once
// for the launch and once for each thread, as CUDA copies them.
//
// A second lambda takes the kernel's address, by which it is known to cudaFuncSetAttribute() as
// well. The name of a template whose arguments follow from the call's, or of an overloaded
// function, has none: then that lambda cannot be called, and there is no address.
#pragma once

#include "runtime_types.h"

namespace simulator {

/// A null pointer among the arguments. It comes from memory, as the others do: of an access by one
/// that it knows, the compiler would leave nothing to be seen.
struct NullArgument {
  const void* value = nullptr;
  template <typename T>
  __forceinline__ operator T*() const {
    return static_cast<T*>(const_cast<void*>(value));
  }
};
__forceinline__ NullArgument as_argument(decltype(nullptr)) {
  return {};
}
template <typename T>
__forceinline__ T as_argument(const T& argument) {
  return argument;
}

/// A kernel with its shape, waiting for its arguments.
template <typename Kernel>
struct ShapedKernel {
  LaunchedKernel known;
  Kernel kernel;
  LaunchShape shape;

  /// Inlined, so that the launch is known to be at the line of the <<<...>>>.
  template <typename... Arguments>
  __forceinline__ void operator()(Arguments... arguments) const {
    launch_with(as_argument(arguments)...);
  }

 private:
  template <typename... Arguments>
  __forceinline__ void launch_with(Arguments... arguments) const {
    // The arguments are read once for each thread. That is no access of the kernel's.
    auto thread = [ call = kernel, arguments... ]() __attribute__((no_sanitize_thread)) {
      call(arguments...);
    };
    using Thread = decltype(thread);
    const auto run = [](void* body) __attribute__((no_sanitize_thread)) {
      (*static_cast<const Thread*>(body))();
    };
    launch(known, shape, run, &thread, sizeof thread);
  }
};

/// A kernel waiting for its shape.
template <typename Kernel>
struct NamedKernel {
  LaunchedKernel known;
  Kernel kernel;

  ShapedKernel<Kernel> operator()(dim3 grid, dim3 block, size_t dynamic_shared_bytes = 0,
                                  cudaStream_t stream = nullptr) const {
    return {known, kernel, {grid, block, dynamic_shared_bytes, stream}};
  }
};

/// `Any` makes a call wait for its types, so that one without a meaning is no error.
template <typename Any, typename... Parameters>
const void* address_of(Any, void (*kernel)(Parameters...)) {
  return reinterpret_cast<const void*>(kernel);
}
template <typename Address>
auto address_if_any(const Address& address, int) -> decltype(address(0)) {
  return address(0);
}
template <typename Address>
const void* address_if_any(const Address&, long) {
  return nullptr;
}

template <typename Address, typename Kernel>
NamedKernel<Kernel> named_kernel(const char* written, const Address& address, Kernel kernel) {
  return {{written, address_if_any(address, 0)}, kernel};
}

/// What `extern __shared__ T name[]` is initialised with: a pointer to any type.
struct DynamicShared {
  template <typename T>
  __forceinline__ operator T*() const {
    return static_cast<T*>(dynamic_shared());
  }
};

/// In a kernel with __launch_bounds__(most), or with how many blocks are to be resident, and how
/// many are in a cluster, which change no result.
__forceinline__ void keep_to_launch_bounds(unsigned most, unsigned = 0, unsigned = 0) {
  if (__builtin_expect(blockDim.x * blockDim.y * blockDim.z > most, 0)) exceed_launch_bounds(most);
}

/// In a kernel with __cluster_dims__(x, y, z).
__forceinline__ void keep_to_cluster(unsigned x, unsigned y = 1, unsigned z = 1) {
  keep_to_cluster_dims(x, y, z);
}

}  // namespace simulator

// The lambda with the call is host code that runs as a part of each thread: it may read a kernel's
// address from a host variable, so its own reads are not checked. The kernel's are. It copies that
// variable: a launch may run when the host code has returned.
#define ONEPASS_LAUNCH(...)                                                                  \
  ::simulator::named_kernel(                                                                 \
      #__VA_ARGS__,                                                                          \
      [=](auto onepass_any) -> decltype(::simulator::address_of(onepass_any, __VA_ARGS__)) { \
        return ::simulator::address_of(onepass_any, __VA_ARGS__);                            \
      },                                                                                     \
      [=](auto... onepass_arguments)                                                         \
          __attribute__((no_sanitize_thread)) { __VA_ARGS__(onepass_arguments...); })
#define ONEPASS_DYNAMIC_SHARED ::simulator::DynamicShared()
#define ONEPASS_CLUSTER_DIMS(...) ::simulator::keep_to_cluster(__VA_ARGS__)
#define ONEPASS_LAUNCH_BOUNDS(...) ::simulator::keep_to_launch_bounds(__VA_ARGS__)
