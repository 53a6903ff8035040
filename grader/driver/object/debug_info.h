// What the debug information of a compiled file (DWARF 4 or 5) tells of its functions and
// variables: where they are declared, and which functions a compiler has inlined where.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "driver/object/elf_object.h"

namespace onepass::driver {

/// A function or a variable, once for all places that speak of it.
struct Declared {
  std::string name;  // "std::vector::push_back": with its scopes, without template arguments
  std::string linkage_name;
  unsigned file = 0;  // as the compiler numbers its files
  unsigned line = 0;
  std::uint64_t alignment = 0;       // as the source has it; 0 if it says nothing
  bool is_generated = false;         // the compiler's own, or `= default`
  bool is_lambda = false;            // the call of a lambda
  bool is_external = false;          // other files can name it
  bool is_local = false;             // a variable in a function
  const Declared* within = nullptr;  // the function that it stands in
};

struct InlinedCall {
  const Declared* function;
  unsigned file;  // of the call
  unsigned line;
  std::vector<InlinedCall> calls;
};

struct CompiledFunction {
  const Declared* function;
  std::vector<InlinedCall> calls;
};

class DebugInfo {
 public:
  /// Of the bytes of an object file. Throws GraderFault if it cannot be read.
  explicit DebugInfo(const std::string& object);
  DebugInfo(const DebugInfo&) = delete;
  DebugInfo& operator=(const DebugInfo&) = delete;

  /// nullptr if there is none.
  const CompiledFunction* function_of(const ObjectSymbol& symbol) const;
  const Declared* variable_of(const ObjectSymbol& symbol) const;

 private:
  std::map<std::size_t, Declared> declared_;  // by offset
  std::deque<CompiledFunction> functions_;
  std::map<ObjectPlace, const CompiledFunction*> functions_by_place_;
  std::map<std::string, const CompiledFunction*> functions_by_name_;
  std::map<ObjectPlace, const Declared*> variables_by_place_;
  std::map<std::string, const Declared*> variables_by_name_;
};

}  // namespace onepass::driver
