// What a call of the student's function needs, by name: buffers, scalars, the stream.
//
// A light header without CUDA's types, shared by the bindings, which are compiled together with the
// student's file, and by the worker, which is not.
#pragma once

#include <cstdint>

namespace onepass::worker {

struct ArgumentTable;  // device.h

/// Becomes a cudaStream_t, CUDA's own or the simulator's, where one is asked for.
struct Stream {
  void* handle;

  template <typename T>
  operator T*() const {
    return static_cast<T*>(handle);
  }
};

/// The arguments of one call. Asking for a name that the request did not give throws: the binding
/// and the checks do not agree, which is a fault of the grader.
class Arguments {
 public:
  explicit Arguments(const ArgumentTable& table) : table_(&table) {}

  /// The device pointer to the buffer's first element; null if the request says so.
  template <typename T>
  T* buffer(const char* name) const {
    return static_cast<T*>(address(name));
  }
  int64_t integer(const char* name) const;
  double real(const char* name) const;
  Stream stream() const;

 private:
  void* address(const char* name) const;

  const ArgumentTable* table_;
};

/// A function that the worker can call. dtype: "fp32", "fp16", "bf16", or "" if it suits any.
struct Function {
  const char* name;
  const char* dtype;
  void (*call)(const Arguments& arguments);
};

struct FunctionTable {
  const Function* functions;
  int count;
};

/// The functions that the binding offers; defined by ONEPASS_FUNCTIONS in binding.h.
FunctionTable bound_functions();
/// Of a binding that was compiled in three parts, what the second and the third offer.
__attribute__((weak)) FunctionTable bound_functions_2();
__attribute__((weak)) FunctionTable bound_functions_3();

}  // namespace onepass::worker
