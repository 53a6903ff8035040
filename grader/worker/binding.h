// For a chapter's bindings: the file that is compiled together with an implementation and maps the
// named buffers and scalars of a request to the contract's function. A whole binding reads:
//
//     #include ONEPASS_SUBMISSION
//
//     #include "worker/binding.h"
//
//     namespace onepass {
//     template <typename T>
//     void call_scale(const worker::Arguments& arguments) {
//       scale(arguments.buffer<const T>("x"), arguments.buffer<T>("y"),
//             arguments.integer("count"), arguments.stream());
//     }
//     }  // namespace onepass
//
//     ONEPASS_FUNCTIONS(ONEPASS_EACH_DTYPE("scale", onepass::call_scale))
//
// C++17, by nvcc or, on the simulator, by the host compiler, at every save of the student's file:
// nothing heavy may be included here.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "worker/arguments.h"

namespace onepass::worker {

template <typename T>
constexpr const char* dtype_name() = delete;
template <>
constexpr const char* dtype_name<float>() {
  return "fp32";
}
template <>
constexpr const char* dtype_name<__half>() {
  return "fp16";
}
template <>
constexpr const char* dtype_name<__nv_bfloat16>() {
  return "bf16";
}

}  // namespace onepass::worker

/// The table of all functions of a binding; once a binding, outside any namespace.
/// Takes Function initialisers, such as {"scale", "fp32", call_scale<float>}.
#define ONEPASS_FUNCTIONS(...)                                          \
  namespace onepass::worker {                                           \
  FunctionTable bound_functions() {                                     \
    static constexpr Function table[] = {__VA_ARGS__};                  \
    return {table, static_cast<int>(sizeof(table) / sizeof(table[0]))}; \
  }                                                                     \
  }

/// A function template over the element type, as three entries of that table.
#define ONEPASS_EACH_DTYPE(name, call)                                        \
  {name, ::onepass::worker::dtype_name<float>(), call<float>},                \
      {name, ::onepass::worker::dtype_name<__half>(), call<__half>}, {        \
    name, ::onepass::worker::dtype_name<__nv_bfloat16>(), call<__nv_bfloat16> \
  }
