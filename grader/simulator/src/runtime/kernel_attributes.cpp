#include "runtime/kernel_attributes.h"

#include <cstdint>
#include <map>
#include <string>

#include "scheduling/limits.h"
#include "source/elf_symbols.h"

namespace simulator {
namespace {

std::map<std::string, std::size_t>& allowances() {
  static std::map<std::string, std::size_t> by_name;
  return by_name;
}

std::string name_of(const void* kernel) {
  return last_name(function_name(reinterpret_cast<std::uintptr_t>(kernel)));
}

std::size_t allowance(const std::string& name) {
  const auto found = allowances().find(name);
  return found == allowances().end() ? limits::kSharedPerBlock : found->second;
}

}  // namespace

void allow_dynamic_shared(const void* kernel, std::size_t bytes) {
  allowances()[name_of(kernel)] = bytes;
}

std::size_t allowed_dynamic_shared(const char* kernel) {
  return allowance(last_name(kernel));
}
std::size_t allowed_dynamic_shared(const void* kernel) {
  return allowance(name_of(kernel));
}

}  // namespace simulator
