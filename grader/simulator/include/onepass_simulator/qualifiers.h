// CUDA's qualifiers, as a host compiler can take them.
//
// Host and device code are one here, so most of them say nothing. What is the device's is marked by
// an alignment that debug information tells of, for the driver to see what kernels call
// (driver/object/device_code.cpp); a kernel stays a function of its own. Shared memory is special:
// a thread_local variable has one place for the whole block, because the simulator runs the threads
// of a block one after another on one thread of the machine.
#pragma once

// Into a kernel all that it calls is inlined, as nvcc does. Of a structure that a function is given
// or returns, the compiler would tell of neither load nor store.
#define __global__ __attribute__((flatten, noinline, aligned(32)))
#define __device__ __attribute__((aligned(16)))
#define __host__
#define __constant__ __attribute__((aligned(16)))
#define __managed__ __attribute__((aligned(16)))
#define __grid_constant__
#define __launch_bounds__(...)
#define __maxnreg__(...)
#define __cluster_dims__(...)
#define __shared__ thread_local
// Nothing: libstdc++ of g++ 13 and newer writes __attribute__((__noinline__, ...)), where an empty
// entry is allowed and a second __attribute__ is not. Inlining changes no result here.
#define __noinline__
#define __forceinline__ __inline__ __attribute__((always_inline))
/// A function that is one expression: families of them are listed a line each.
#define ONEPASS_INTRINSIC(Result, name, parameters, ...) \
  __forceinline__ Result name parameters {               \
    return __VA_ARGS__;                                  \
  }
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __nv_pure__ __attribute__((pure))
#define CUDARTAPI
#define CUDART_CB

// As nvcc says it. __CUDA_ARCH__ stays undefined, as nvcc has it for the host; where it compiles
// for the device alone, the rewriter puts a name of ours in its place, that of the simulated GPU.
#define ONEPASS_DEVICE_ARCH 900
#define __CUDACC__ 1
#define CUDART_VERSION 13000
#define __CUDACC_VER_MAJOR__ 13
#define __CUDACC_VER_MINOR__ 0

#define ONEPASS_CANNOT_SIMULATE(what) \
  static_assert(false, what " cannot be simulated on a CPU: grade this on a GPU")
/// Where a declaration may not stand. A pragma may, everywhere; its sentence is one string.
#define ONEPASS_STOP(sentence) ONEPASS_PRAGMA(GCC error sentence)
#define ONEPASS_PRAGMA(...) _Pragma(#__VA_ARGS__)
#define __block_size__(...) \
  ONEPASS_STOP("__block_size__ cannot be simulated on a CPU: grade this on a GPU")
/// A hint of nvcc's, which g++ does not have; the condition is not evaluated.
#define __builtin_assume(...) static_cast<void>(sizeof((__VA_ARGS__) ? 1 : 0))
// clang-format off
#define ONEPASS_NO_HIDDEN_ASM "write asm and its text at one place, asm volatile(\"...\" : ...): other assembly cannot be simulated on a CPU"
#define ONEPASS_NO_INITIALIZER "initializer not allowed for __shared__ variable: let the threads store its first values, then call __syncthreads()"
// clang-format on

// What the rewriter makes of an asm statement that the simulator does not run, and of what is left
// of it; of the word asm elsewhere, as in `#define EVIL asm`.
#define ONEPASS_REFUSED_ASM(sentence) ONEPASS_STOP(sentence)
#define ONEPASS_DROPPED_ASM(...)
#define ONEPASS_HIDDEN_ASM ONEPASS_STOP(ONEPASS_NO_HIDDEN_ASM)
// What the rewriter puts into a constexpr function of the host (rewriter/constexpr_functions.cpp).
#define ONEPASS_CONSTEXPR_OF_HOST          \
  if (__builtin_is_constant_evaluated()) { \
  }
// What the rewriter puts before the initialiser of a __shared__ variable. In nvcc's words.
#define ONEPASS_SHARED_INITIALIZER ONEPASS_STOP(ONEPASS_NO_INITIALIZER)
