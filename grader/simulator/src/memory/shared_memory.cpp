#include "memory/shared_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <new>

#include "device_limits.h"
#include "source/elf_symbols.h"

namespace simulator {
namespace {

/// An instance of a template has its type before it, and a scope has none.
bool declares(const KernelNames& kernel, const SharedVariable& variable) {
  if (kernel.instance.empty()) return variable.function == kernel.own;
  return kernel.instance == variable.scope || kernel.instance == "void " + variable.scope;
}

}  // namespace

SharedMemory::SharedMemory() {
  void* memory = mmap(nullptr, kDynamicReserved + 1024, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  dynamic_begin_ = (reinterpret_cast<std::uintptr_t>(memory) + 1023) & ~std::uintptr_t{1023};

  static_size_ = thread_local_block().size;
  variable_at_.resize(static_size_ + 1);
  for (const ElfSymbol& symbol : thread_local_symbols()) {
    // The simulator's own thread-local variables are not the kernel's.
    if (symbol.name.rfind("simulator::", 0) == 0 || symbol.size == 0) continue;
    if (symbol.value + symbol.size > static_size_) continue;
    const auto first = variable_at_.begin() + static_cast<std::ptrdiff_t>(symbol.value);
    if (symbol.name.rfind("guard variable for ", 0) == 0) {
      std::fill_n(first, symbol.size, kGuard);
      continue;
    }
    variables_.push_back({last_name(symbol.name), symbol.value, symbol.size});
    const std::size_t end = symbol.name.rfind(")::");
    if (end != std::string::npos) {
      variables_.back().scope = symbol.name.substr(0, end + 1);
      variables_.back().function = last_name(variables_.back().scope);
    }
    std::fill_n(first, symbol.size, static_cast<std::uint16_t>(variables_.size()));
  }
}

void SharedMemory::prepare(std::size_t dynamic_bytes) {
  static_begin_ = thread_local_block().begin;
  dynamic_size_ = dynamic_bytes;
  for (SharedVariable& variable : variables_) variable.used_in_launch = false;
}

void SharedMemory::begin_block() {
  for (const SharedVariable& variable : variables_) {
    if (!variable.used) continue;
    std::memset(reinterpret_cast<void*>(static_begin_ + variable.begin), kNoUsefulNumber,
                variable.size);
  }
  std::memset(reinterpret_cast<void*>(dynamic_begin_), kNoUsefulNumber, dynamic_size_);
}

void SharedMemory::park(ParkedShared& parked) const {
  parked.variables.clear();
  parked.statics.clear();
  for (std::size_t number = 0; number < variables_.size(); ++number) {
    const SharedVariable& variable = variables_[number];
    if (!variable.used_in_launch) continue;
    parked.variables.push_back(static_cast<std::uint16_t>(number));
    const auto* bytes = reinterpret_cast<const unsigned char*>(static_begin_ + variable.begin);
    parked.statics.insert(parked.statics.end(), bytes, bytes + variable.size);
  }
  const auto* bytes = reinterpret_cast<const unsigned char*>(dynamic_begin_);
  parked.dynamic.assign(bytes, bytes + dynamic_size_);
}

void SharedMemory::restore(const ParkedShared& parked) {
  const unsigned char* from = parked.statics.data();
  for (const std::uint16_t number : parked.variables) {
    const SharedVariable& variable = variables_[number];
    std::memcpy(reinterpret_cast<void*>(static_begin_ + variable.begin), from, variable.size);
    from += variable.size;
  }
  std::memcpy(reinterpret_cast<void*>(dynamic_begin_), parked.dynamic.data(), dynamic_size_);
}

void SharedMemory::put_in_window(unsigned seat) const {
  for (const SharedVariable& variable : variables_) {
    if (!variable.used_in_launch) continue;
    std::memcpy(reinterpret_cast<void*>(windows_.statics(seat) + variable.begin),
                reinterpret_cast<const void*>(static_begin_ + variable.begin), variable.size);
  }
  std::memcpy(reinterpret_cast<void*>(windows_.dynamic(seat)),
              reinterpret_cast<const void*>(dynamic_begin_), dynamic_size_);
}

void SharedMemory::take_from_window(unsigned seat) {
  for (const SharedVariable& variable : variables_) {
    if (!variable.used_in_launch) continue;
    std::memcpy(reinterpret_cast<void*>(static_begin_ + variable.begin),
                reinterpret_cast<const void*>(windows_.statics(seat) + variable.begin),
                variable.size);
  }
  std::memcpy(reinterpret_cast<void*>(dynamic_begin_),
              reinterpret_cast<const void*>(windows_.dynamic(seat)), dynamic_size_);
}

std::size_t SharedMemory::static_bytes_used() const {
  std::size_t bytes = 0;
  for (const SharedVariable& variable : variables_) {
    bytes += variable.used_in_launch ? variable.size : 0;
  }
  return bytes;
}

std::size_t SharedMemory::static_bytes_of(const KernelNames& kernel) const {
  std::map<std::string, std::size_t> bytes;  // by the variable's name
  for (const SharedVariable& variable : variables_) {
    std::size_t& most = bytes[variable.name];
    if (declares(kernel, variable)) most = std::max(most, variable.size);
  }
  std::size_t sum = 0;
  for (const auto& [name, most] : bytes) sum += most;
  return sum;
}

const SharedVariable* SharedMemory::variable_before(std::uintptr_t address) const {
  const std::size_t offset = address - static_begin_;
  const SharedVariable* best = nullptr;
  for (const SharedVariable& variable : variables_) {  // by rising address
    if (variable.begin <= offset) best = &variable;
  }
  return best != nullptr || variables_.empty() ? best : &variables_.front();
}

const SharedVariable* SharedMemory::variable_of_size(std::size_t bytes, std::size_t elements,
                                                     const std::string& function) const {
  for (const SharedVariable& variable : variables_) {
    const bool fits = bytes > 0 ? variable.size == bytes : variable.size % elements == 0;
    const bool is_of_kernel = variable.used_in_launch || variable.function == function;
    if (fits && is_of_kernel && !variable.function.empty()) return &variable;
  }
  return nullptr;
}

}  // namespace simulator
