#include "source/kernel_names.h"

#include <algorithm>

#include "source/elf_symbols.h"

namespace simulator {

// The compiler may have made a copy for certain arguments: "void k<float>(float*) [clone .part.0]".
KernelNames kernel_names(std::uintptr_t address) {
  std::string instance = function_name(address);
  instance.resize(std::min(instance.size(), instance.find(" [clone ")));
  return {last_name(instance), instance};
}

KernelNames kernel_names(const LaunchedKernel& kernel) {
  return kernel.function == nullptr
             ? KernelNames{last_name(kernel.written), ""}
             : kernel_names(reinterpret_cast<std::uintptr_t>(kernel.function));
}

}  // namespace simulator
