// What cudaFuncSetAttribute() allowed to a kernel.
//
// It is given the kernel's address, while a launch knows the kernel by the name written before its
// <<<...>>>. The two meet in the function's own name: the last one of the symbol, without template
// arguments and parameters. Instances of one template are therefore not told apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "common/limits.h"
#include "source/elf_symbols.h"

namespace simulator {

class KernelAttributes {
 public:
  void allow_dynamic_shared(const void* kernel, std::size_t bytes) {
    allowed_[own_name(kernel)] = bytes;
  }

  /// The dynamic shared memory that a launch of `kernel` may ask for: its address, or "ns::k<T>".
  template <typename T>
  std::size_t allowed_dynamic_shared(const T* kernel) const {
    const auto found = allowed_.find(own_name(kernel));
    return found == allowed_.end() ? limits::kSharedPerBlock : found->second;
  }

 private:
  static std::string own_name(const char* written) { return last_name(written); }
  static std::string own_name(const void* kernel) {
    return last_name(function_name(reinterpret_cast<std::uintptr_t>(kernel)));
  }

  std::map<std::string, std::size_t> allowed_;  // by own name
};

}  // namespace simulator
