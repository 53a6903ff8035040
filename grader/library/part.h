// For parts/: the file that makes an exercise a part of the library. A whole one:
//
//     #include ONEPASS_SUBMISSION
//
//     #include "library/part.h"
//
//     ONEPASS_PART(rmsnorm_forward_fast, onepass_rmsnorm_forward, onepass::rmsnorm_forward_fast<T>)
//
// It names the exercise, the function of onepass/library.h whose arguments its launcher takes, and
// the launcher. All but part_rmsnorm_forward_fast() is the part's own: the driver takes
// away the names of the rest, so that two exercises may have helpers of the same name.
#pragma once

#include <onepass/library.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

/// A function of any type, for whoever knows which it is.
using OnepassFunction = void (*)();

namespace onepass::library {

// Declared for their types: what plain exercises take where the fast ones have an argument more.
int rope_of_split_halves(int dtype, int table_dtype, int position_bits, void* q, int64_t q_stride,
                         void* k, int64_t k_stride, const void* positions, const void* cos,
                         const void* sin, int tokens, int q_heads, int k_heads, int head_dim,
                         int rotary_dim, OnepassStream stream);
int batchnorm_without_scratch(int dtype, const void* x, const void* weight, const void* bias,
                              void* y, float* running_mean, float* running_var, float* save_mean,
                              float* save_rstd, int batch, int channels, int space, float eps,
                              float momentum, OnepassStream stream);

/// Calls it with what it asks for: void* as T*, an int as a value of an enumeration. Returns the
/// error that CUDA has, and leaves none behind.
template <typename Result, typename... Types, typename... Given>
int launch(Result (*launcher)(Types...), Given... given) {
  launcher(static_cast<Types>(given)...);
  return static_cast<int>(cudaGetLastError());
}

/// Calls work(T{}) with the type of that number.
template <typename Work>
int with_type(int dtype, const Work& work) {
  return dtype == ONEPASS_FP32   ? work(float{})
         : dtype == ONEPASS_FP16 ? work(__half{})
         : dtype == ONEPASS_BF16 ? work(__nv_bfloat16{})
                                 : static_cast<int>(ONEPASS_BAD_ARGUMENT);
}

/// The function that has the arguments of `Interface` and calls a launcher of `Launchers`.
template <typename Launchers, typename Interface>
struct Part;

template <typename Launchers, typename... Given>
struct Part<Launchers, int(int, Given...)> {
  static int call(int dtype, Given... given) {
    return with_type(dtype, [&](auto type) {
      return launch(Launchers::template of<decltype(type)>(), given...);
    });
  }
};

/// The same for RoPE, whose tables and positions have types, too: the combinations that are graded.
template <typename Launchers, typename Interface>
struct RopePart;

template <typename Launchers, typename... Given>
struct RopePart<Launchers, int(int, int, int, Given...)> {
  static int call(int dtype, int table_dtype, int position_bits, Given... given) {
    return with_type(dtype, [&](auto type) {
      using T = decltype(type);
      if (table_dtype == ONEPASS_FP32 && position_bits == 32) {
        return launch(Launchers::template of<T, float, int32_t>(), given...);
      }
      return table_dtype == ONEPASS_FP32
                 ? launch(Launchers::template of<T, float, int64_t>(), given...)
                 : launch(Launchers::template of<T, T, int64_t>(), given...);
    });
  }
};

}  // namespace onepass::library

/// What the driver links: gives the part's function.
#define ONEPASS_EXPORT(exercise, part, interface)                                                 \
  namespace onepass::library {                                                                    \
  __attribute__((visibility("hidden"))) OnepassFunction part_##exercise() {                       \
    return reinterpret_cast<OnepassFunction>(&part<OnepassLaunchers, decltype(interface)>::call); \
  }                                                                                               \
  }

#define ONEPASS_PART(exercise, interface, ...) \
  struct OnepassLaunchers {                    \
    template <typename T>                      \
    static auto of() {                         \
      return &__VA_ARGS__;                     \
    }                                          \
  };                                           \
  ONEPASS_EXPORT(exercise, Part, interface)

#define ONEPASS_ROPE_PART(exercise, interface, ...)          \
  struct OnepassLaunchers {                                  \
    template <typename T, typename Table, typename Position> \
    static auto of() {                                       \
      return &__VA_ARGS__;                                   \
    }                                                        \
  };                                                         \
  ONEPASS_EXPORT(exercise, RopePart, interface)
