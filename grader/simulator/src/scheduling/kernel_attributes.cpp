#include "scheduling/kernel_attributes.h"

#include <cstdint>

#include "common/limits.h"
#include "source/elf_symbols.h"

namespace simulator {
namespace {

std::string name_of(const void* kernel) {
  return last_name(function_name(reinterpret_cast<std::uintptr_t>(kernel)));
}

}  // namespace

std::size_t KernelAttributes::allowance(const std::string& name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? limits::kSharedPerBlock : found->second;
}

void KernelAttributes::allow_dynamic_shared(const void* kernel, std::size_t bytes) {
  by_name_[name_of(kernel)] = bytes;
}

std::size_t KernelAttributes::allowed_dynamic_shared(const char* kernel) const {
  return allowance(last_name(kernel));
}
std::size_t KernelAttributes::allowed_dynamic_shared(const void* kernel) const {
  return allowance(name_of(kernel));
}

}  // namespace simulator
