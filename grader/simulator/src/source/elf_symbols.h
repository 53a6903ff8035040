// The running program's own symbol table, read from its file: it names the __shared__ variables
// (which the headers make thread_local, so they are TLS symbols with a place and a size) and the
// functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace simulator {

struct ElfSymbol {
  std::string name;      // of a variable demangled, of a function not yet
  std::uintptr_t value;  // TLS: offset in the thread-local block; function: address when loaded
  std::size_t size;
};

/// The path of the program's file.
const std::string& program_path();

/// What the loader added to the addresses of the program's file.
std::uintptr_t program_base();

/// The calling thread's thread-local block of the program itself (not of its libraries).
struct ThreadLocalBlock {
  std::uintptr_t begin = 0;
  std::size_t size = 0;
};
ThreadLocalBlock thread_local_block();

/// The symbols of either sort, read once, by rising value.
const std::vector<ElfSymbol>& thread_local_symbols();
const std::vector<ElfSymbol>& function_symbols();

/// The function that holds `address`, demangled; empty if there is none.
std::string function_name(std::uintptr_t address);

/// "void onepass::k<float>(float*)::buffer" → "buffer"; "void ns::k<T>(T*)" → "k".
std::string last_name(const std::string& demangled);

}  // namespace simulator
