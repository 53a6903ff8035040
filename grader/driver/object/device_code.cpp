#include "driver/object/device_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "driver/object/debug_info.h"
#include "driver/object/names.h"
#include "driver/text.h"

namespace onepass::driver {
namespace {

// simulator/include/onepass_simulator/qualifiers.h
constexpr std::uint64_t kDeviceAlignment = 16;
constexpr std::uint64_t kKernelAlignment = 32;

constexpr std::uint64_t kStaticSharedBytes = 48 * 1024;

/// Is it a header that the exercise gives? nvcc tells its functions apart as it does the student's.
bool is_given(const std::string& file) {
  return file.find("/grader/include/onepass/") != std::string::npos;
}

/// A symbol that a function's instructions name, and the line at which they do.
struct Use {
  const ObjectSymbol* symbol;
  std::string file;
  unsigned line;
  bool is_call;
};

/// The functions of an assembly file, by symbol, and the files by their numbers.
class Assembly {
 public:
  Assembly(std::string_view text, const ObjectFile& object) {
    for (const ObjectSymbol& symbol : object.symbols) {
      symbols_.emplace(symbol.name, &symbol);
    }
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      read_line(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }

  const std::vector<Use>& uses_of(const std::string& function) const {
    static const std::vector<Use> none;
    const auto found = uses_.find(function);
    return found == uses_.end() ? none : found->second;
  }

  const std::string& file(unsigned number) const {
    static const std::string none;
    const auto found = files_.find(number);
    return found == files_.end() ? none : found->second;
  }

 private:
  static bool continues_name(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '$';
  }

  void read_line(std::string_view line) {
    if (line.empty()) {
      return;
    }
    if (line[0] != '\t') {
      const auto symbol = symbols_.find(std::string(line.substr(0, line.find(':'))));
      if (symbol != symbols_.end()) {
        function_ = symbol->first;
        line_ = 0;
      }
    } else if (line.substr(0, 6) == "\t.loc ") {
      file_ = number_at(line, 6);
      line_ = number_at(line, line.find(' ', 6));
    } else if (line.substr(0, 7) == "\t.file ") {
      const std::size_t name = line.find('"') + 1;
      files_[number_at(line, 7)] = line.substr(name, line.find('"', name) - name);
    } else if (line.substr(0, 7) == "\t.size\t" || line.substr(0, 13) == "\t.cfi_endproc") {
      function_.clear();
    } else if (!function_.empty() && line.size() > 1 && line[1] != '.') {
      read_operands(line.substr(1));
    }
  }

  static unsigned number_at(std::string_view line, std::size_t at) {
    return static_cast<unsigned>(
        std::atoi(std::string(line.substr(std::min(at, line.size()))).c_str()));
  }

  void read_operands(std::string_view instruction) {
    std::size_t at = std::min(instruction.find_first_of(" \t"), instruction.size());
    const bool is_call = instruction.substr(0, 4) == "call" || instruction.substr(0, 3) == "jmp";
    while (at < instruction.size()) {
      if (!continues_name(instruction[at])) {
        ++at;
        continue;
      }
      std::size_t end = at;
      while (end < instruction.size() && continues_name(instruction[end])) {
        ++end;
      }
      std::string name(instruction.substr(at, end - at));
      const bool is_register = instruction[at - 1] == '%';
      if (name[0] == '$') {
        name.erase(0, 1);
      }
      const auto symbol = is_register ? symbols_.end() : symbols_.find(name);
      if (symbol != symbols_.end()) {
        uses_[function_].push_back({symbol->second, file(file_), line_, is_call});
      }
      at = end;
    }
  }

  std::map<std::string, const ObjectSymbol*> symbols_;
  std::map<std::string, std::vector<Use>> uses_;
  std::map<unsigned, std::string> files_;
  std::string function_;
  unsigned file_ = 0, line_ = 0;
};

class DeviceCode {
 public:
  DeviceCode(const ObjectFile& object, const std::string& bytes, const std::string& assembly,
             const std::string& source, const std::string& shown_file)
      : object_(object),
        debug_(bytes),
        assembly_(assembly, object),
        source_(lines_of(source)),
        shown_file_(shown_file) {}

  std::optional<CompileError> refused(const WrittenFunctions& written, bool with_functions) {
    if (with_functions) {
      look_at_written(written);
    }
    for (const ObjectSymbol& symbol : object_.symbols) {
      const CompiledFunction* function = debug_.function_of(symbol);
      if (function == nullptr || symbol.kind == ObjectSymbol::Kind::undefined) {
        continue;
      }
      if (function->function->alignment == kKernelAlignment) {
        look_through(symbol, with_functions);
      } else if (with_functions && is_students_host(*function->function)) {
        look_at_host(symbol, *function);
      }
    }
    // The first line of those that are wrong.
    return errors_.empty() ? std::nullopt : std::optional(errors_.begin()->second);
  }

 private:
  void look_through(const ObjectSymbol& kernel, bool with_functions) {
    std::set<const ObjectSymbol*> reached = {&kernel};
    std::vector<const ObjectSymbol*> left = {&kernel};
    std::set<const ObjectSymbol*> shared;
    std::uint64_t shared_bytes = 0;
    while (!left.empty()) {
      const ObjectSymbol& symbol = *left.back();
      left.pop_back();
      const CompiledFunction* function = debug_.function_of(symbol);
      if (function != nullptr && with_functions) {
        look_at_calls(*function->function, function->calls);
      }
      for (const Use& use : assembly_.uses_of(symbol.name)) {
        if (use.symbol->is_thread_local) {
          shared_bytes += shared.insert(use.symbol).second ? use.symbol->size : 0;
        } else if (with_functions && is_allowed(use, function) &&
                   reached.insert(use.symbol).second) {
          left.push_back(use.symbol);
        }
      }
    }
    if (shared_bytes > kStaticSharedBytes) {
      const Declared& declared = *debug_.function_of(kernel)->function;
      add(assembly_.file(declared.file), declared.line,
          fmt::format("entry function {} uses too much shared data ({} bytes, {} max): more only "
                      "as dynamic shared memory (extern __shared__)",
                      declared.name, shared_bytes, kStaticSharedBytes));
    }
  }

  /// Is it a function of the device, to be looked through as well?
  bool is_allowed(const Use& use, const CompiledFunction* caller) {
    const ObjectSymbol& symbol = *use.symbol;
    const Declared* from = caller != nullptr ? caller->function : nullptr;
    if (const CompiledFunction* function = debug_.function_of(symbol)) {
      if (!is_host(*function->function)) {
        return true;
      }
      if (from != nullptr) {
        refuse_call(use.file, use.line, *function->function, *from);
      }
    } else if (const Declared* variable = debug_.variable_of(symbol)) {
      if (is_host_variable(*variable)) {
        add(use.file, use.line,
            fmt::format("identifier \"{}\" is undefined in device code: it is a variable of the "
                        "host. Mark it __device__ or __constant__, or pass its value to the kernel",
                        variable->name));
      }
    } else if (symbol.kind == ObjectSymbol::Kind::undefined && symbol.name.rfind("_ZT", 0) != 0 &&
               from != nullptr && !is_library(*from)) {
      if (const std::string sentence = about_kernels_without(symbol.name); !sentence.empty()) {
        add(use.file, use.line, sentence);
      } else if (!may_ask_for_in_kernels(symbol.name)) {
        add(use.file, use.line, refusal(readable_name(symbol.name), *from, kNoDeviceVersion));
      }
    }
    return false;
  }

  /// Calls of the student's functions of which the object may hold nothing: the compiler knows what
  /// they give. And a kernel that is called as a function is.
  void look_at_written(const WrittenFunctions& functions) {
    std::set<const WrittenFunction*> reached;
    std::vector<std::pair<const WrittenFunction*, unsigned>> left;  // with the line of the call
    for (const auto& [number, function] : functions) {
      if (function.alignment == kKernelAlignment) {
        left.emplace_back(&function, 0);
      }
      if (function.file != shown_file_ || function.is_lambda) {
        continue;  // the lambdas that the rewriter makes of launches
      }
      for (const WrittenCall& call : function.calls) {
        if (call.callee->alignment == kKernelAlignment) {
          add(call.file, call.line,
              fmt::format(
                  "a __global__ function call must be configured: {0}<<<grid, block>>>(...) "
                  "launches {0}",
                  call.callee->name));
        }
      }
    }
    while (!left.empty()) {
      const auto [caller, outer_line] = left.back();
      left.pop_back();
      for (const WrittenCall& call : caller->calls) {
        const WrittenFunction& callee = *call.callee;
        const unsigned line = call.file == shown_file_ ? call.line : outer_line;
        const bool is_theirs = callee.file == shown_file_;
        const bool is_host = callee.alignment < kDeviceAlignment &&
                             (is_theirs || is_given(callee.file)) && !callee.is_generated &&
                             !callee.is_lambda;
        if (is_host) {
          add(line != 0 ? shown_file_ : "", line,
              refusal(callee.name, caller->name, caller->alignment == kKernelAlignment,
                      is_theirs ? kMarkIt : kNoDeviceVersion));
        } else if (reached.insert(&callee).second) {
          left.emplace_back(&callee, line);
        }
      }
    }
  }

  /// Does the host call what only the device has?
  void look_at_host(const ObjectSymbol& symbol, const CompiledFunction& function) {
    look_at_calls_of_host(*function.function, function.calls);
    for (const Use& use : assembly_.uses_of(symbol.name)) {
      const CompiledFunction* callee = use.is_call ? debug_.function_of(*use.symbol) : nullptr;
      if (callee != nullptr && is_device_only(*callee->function)) {
        refuse_host(use.file, use.line, *callee->function, *function.function);
      }
    }
  }

  void look_at_calls_of_host(const Declared& caller, const std::vector<InlinedCall>& calls) {
    for (const InlinedCall& call : calls) {
      if (is_device_only(*call.function)) {
        refuse_host(assembly_.file(call.file), call.line, *call.function, caller);
      } else if (is_students_host(*call.function)) {
        look_at_calls_of_host(*call.function, call.calls);
      }
    }
  }

  void refuse_host(const std::string& file, unsigned line, const Declared& callee,
                   const Declared& caller) {
    add(file, line,
        fmt::format("calling a __device__ function(\"{}\") from a __host__ function(\"{}\") is not "
                    "allowed: mark it __host__ __device__ for both to call it",
                    callee.name, caller.name));
  }

  void look_at_calls(const Declared& caller, const std::vector<InlinedCall>& calls,
                     unsigned outer_line = 0) {
    for (const InlinedCall& call : calls) {
      const bool is_here = assembly_.file(call.file) == shown_file_;
      const unsigned line = is_here ? call.line : outer_line;
      if (!is_host(*call.function)) {
        look_at_calls(*call.function, call.calls, line);
      } else if (!is_library(caller) || is_students(*call.function) ||
                 is_given(assembly_.file(call.function->file))) {
        refuse_call(line != 0 ? shown_file_ : "", line, *call.function, caller);
      }
    }
  }

  void refuse_call(const std::string& file, unsigned line, const Declared& callee,
                   const Declared& caller) {
    add(file, line, refusal(callee.name, caller, is_students(callee) ? kMarkIt : kNoDeviceVersion));
  }

  static std::string refusal(const std::string& callee, const Declared& caller,
                             const char* advice) {
    return refusal(callee, caller.name, caller.alignment == kKernelAlignment, advice);
  }
  static std::string refusal(const std::string& callee, const std::string& caller, bool by_kernel,
                             const char* advice) {
    return fmt::format(
        "calling a __host__ function(\"{}\") from a {} function(\"{}\") is not allowed: {}", callee,
        by_kernel ? "__global__" : "__device__", caller, advice);
  }

  void add(const std::string& file, unsigned line, const std::string& message) {
    const bool is_here = file == shown_file_ && line != 0;
    errors_.try_emplace(is_here ? line : ~0u,
                        CompileError{message, is_here ? fmt::format("{}:{}", file, line) : ""});
  }

  bool is_students(const Declared& declared) const {
    return assembly_.file(declared.file) == shown_file_;
  }
  /// The compiler's, or a header's.
  bool is_library(const Declared& declared) const { return !is_students(declared); }

  bool is_students_host(const Declared& function) const {
    return is_students(function) && is_host(function);
  }

  /// Of the student's functions. One for host and device looks the same to the compiler; so it is
  /// the source that has to say __device__ and not __host__, before the name.
  bool is_device_only(const Declared& function) const {
    if (function.alignment != kDeviceAlignment || !is_students(function) || function.is_lambda ||
        function.line == 0 || function.line > source_.size()) {
      return false;
    }
    std::string before = source_[function.line - 1];
    before.resize(std::min(before.size(), before.find(own_name(function))));
    for (unsigned line = function.line - 1; line > 0; --line) {
      if (before.find_first_of(";{}#") != std::string::npos) {
        break;
      }
      before = source_[line - 1] + ' ' + before;
    }
    before.erase(0, before.find_last_of(";{}#") + 1);
    return before.find("__device__") != std::string::npos &&
           before.find("__host__") == std::string::npos;
  }

  static std::string own_name(const Declared& function) {
    const std::size_t scope = function.name.rfind("::");
    return function.name.substr(scope == std::string::npos ? 0 : scope + 2);
  }

  bool is_ours(const Declared& declared) const {
    return assembly_.file(declared.file).find("/grader/") != std::string::npos &&
           !is_students(declared);
  }
  bool is_given_function(const Declared& function) const {
    return is_given(assembly_.file(function.file)) && !is_students(function);
  }

  bool is_host_variable(const Declared& variable) const {
    return variable.alignment < kDeviceAlignment && !variable.is_local && !variable.is_generated &&
           variable.line != 0 && !is_ours(variable);
  }

  bool is_host(const Declared& function) const {
    if (function.alignment >= kDeviceAlignment || function.is_generated || function.line == 0 ||
        (is_ours(function) && !is_given_function(function))) {
      return false;
    }
    if (function.is_lambda && function.within != nullptr) {
      return is_host(*function.within);
    }
    return is_students(function) || is_given_function(function) || !has_device_version(function);
  }

  /// Of the standard library nvcc has mathematics, and what moves references.
  bool has_device_version(const Declared& function) const {
    static const std::set<std::string> files = {"cmath", "std_abs.h", "math.h", "new"};
    static const std::set<std::string> names = {"std::move", "std::forward", "abs", "labs",
                                                "llabs"};
    return files.count(std::filesystem::path(assembly_.file(function.file)).filename()) > 0 ||
           names.count(function.name) > 0 || function.name.rfind("std::initializer_list::", 0) == 0;
  }

  static constexpr const char* kMarkIt =
      "mark it __device__, and __host__ too if the host calls it";
  static constexpr const char* kNoDeviceVersion = "it has no version for the device";

  const ObjectFile& object_;
  const DebugInfo debug_;
  const Assembly assembly_;
  const std::vector<std::string> source_;
  const std::string& shown_file_;
  std::map<unsigned, CompileError> errors_;  // by line
};

}  // namespace

std::optional<CompileError> refused_device_code(const ObjectFile& object, const std::string& bytes,
                                                const std::string& assembly,
                                                const WrittenFunctions& written,
                                                const std::string& source,
                                                const std::string& shown_file) {
  // Host and device are one to the simulator. Code that tells them apart may call each other's.
  const bool one_for_both = source.find("__CUDA_ARCH__") == std::string::npos;
  return DeviceCode(object, bytes, assembly, source, shown_file).refused(written, one_for_both);
}

}  // namespace onepass::driver
