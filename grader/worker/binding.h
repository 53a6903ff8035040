// For a chapter's bindings: the file that is compiled together with an implementation and names the
// arguments of the contract's function, in their order, as a request names them. A whole binding:
//
//     #include ONEPASS_SUBMISSION
//
//     #include "worker/binding.h"
//
//     ONEPASS_FUNCTIONS(ONEPASS_EACH_DTYPE("scale", onepass::scale<T>, "x", "y", "count"))
//
// The types are those of the function. The stream comes last and has no name. What the function
// returns travels to the deciding process in a buffer, as all results do: "returned", an int32.
//
// C++17, by nvcc or, on the simulator, by the host compiler, at every save of the student's file:
// nothing heavy may be included here, not even <type_traits>.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "worker/arguments.h"

namespace onepass::worker {

/// What a request holds under a name. Becomes what the function asks for: a pointer, a float, and
/// else an integer, which a value of an enumeration is too.
struct Argument {
  const Arguments& arguments;
  const char* name;

  template <typename T>
  operator T*() const {
    return arguments.buffer<T>(name);
  }
  operator float() const { return static_cast<float>(arguments.real(name)); }
  template <typename Integer>
  operator Integer() const {
    return static_cast<Integer>(arguments.integer(name));
  }
};

template <typename... Types, typename... Names>
void call(void (*function)(Types...), const Arguments& arguments, Names... names) {
  function(Argument{arguments, names}..., arguments.stream());
}

/// The result is stored with what there is on every device: all four bytes of it are the number.
template <typename Result, typename... Types, typename... Names>
void call(Result (*function)(Types...), const Arguments& arguments, Names... names) {
  const Result result = function(Argument{arguments, names}..., arguments.stream());
  cudaMemsetAsync(arguments.buffer<void>("returned"), static_cast<int>(result), sizeof(int),
                  arguments.stream());
}

}  // namespace onepass::worker

/// The table of all functions of a binding; once a binding, outside any namespace.
/// Takes Function initialisers, such as {"scale", "fp32", call_scale}.
#define ONEPASS_FUNCTIONS(...)                                          \
  namespace onepass::worker {                                           \
  FunctionTable ONEPASS_BOUND() {                                       \
    static constexpr Function table[] = {__VA_ARGS__};                  \
    return {table, static_cast<int>(sizeof(table) / sizeof(table[0]))}; \
  }                                                                     \
  }

/// `function` of the element type T, and the names of its arguments, as an entry of that table.
#define ONEPASS_FUNCTION(type, dtype, name, function, ...) \
  {                                                        \
    name, dtype, [](const Arguments& arguments) -> void {  \
      using T = type;                                      \
      call(function, arguments, __VA_ARGS__);              \
    }                                                      \
  }

/// The same for each element type there is. The driver may compile a binding in parts, one for each
/// of them (driver/compile.cpp).
#define ONEPASS_FP32(...) ONEPASS_FUNCTION(float, "fp32", __VA_ARGS__)
#define ONEPASS_FP16(...) ONEPASS_FUNCTION(__half, "fp16", __VA_ARGS__)
#define ONEPASS_BF16(...) ONEPASS_FUNCTION(__nv_bfloat16, "bf16", __VA_ARGS__)
#ifndef ONEPASS_PART
#define ONEPASS_BOUND bound_functions
#define ONEPASS_EACH_DTYPE(...) \
  ONEPASS_FP32(__VA_ARGS__), ONEPASS_FP16(__VA_ARGS__), ONEPASS_BF16(__VA_ARGS__)
#elif ONEPASS_PART == 1
#define ONEPASS_BOUND bound_functions
#define ONEPASS_EACH_DTYPE ONEPASS_FP32
#elif ONEPASS_PART == 2
#define ONEPASS_BOUND bound_functions_2
#define ONEPASS_EACH_DTYPE ONEPASS_FP16
#else
#define ONEPASS_BOUND bound_functions_3
#define ONEPASS_EACH_DTYPE ONEPASS_BF16
#endif
