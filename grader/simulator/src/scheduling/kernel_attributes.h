// What cudaFuncSetAttribute() allowed to a kernel.
//
// It is given the kernel's address, while a launch knows the kernel by the name written before its
// <<<...>>>. The two meet in the function's own name: the last one of the symbol, without template
// arguments and parameters. Instances of one template are therefore not told apart.
#pragma once

#include <cstddef>
#include <map>
#include <string>

namespace simulator {

class KernelAttributes {
 public:
  void allow_dynamic_shared(const void* kernel, std::size_t bytes);

  /// The dynamic shared memory that a launch of `kernel` ("ns::k<T>") may ask for.
  std::size_t allowed_dynamic_shared(const char* kernel) const;
  std::size_t allowed_dynamic_shared(const void* kernel) const;

 private:
  std::size_t allowance(const std::string& name) const;

  std::map<std::string, std::size_t> by_name_;
};

}  // namespace simulator
