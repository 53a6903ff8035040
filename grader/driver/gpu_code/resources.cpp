#include "driver/gpu_code/resources.h"

#include <algorithm>
#include <cstdlib>
#include <regex>

#include "driver/object/names.h"
#include "driver/text.h"

namespace onepass::driver {
namespace {

constexpr int kMostRegisters = 255;  // of a thread
constexpr std::size_t kLongName = 60;

// Where the bracket that closes at `close` opens.
std::size_t opening(const std::string& text, std::size_t close) {
  int depth = 0;
  for (std::size_t i = close + 1; i-- > 0;) {
    depth += text[i] == ')' ? 1 : 0;
    depth -= text[i] == '(' ? 1 : 0;
    if (depth == 0) {
      return i;
    }
  }
  return 0;
}

}  // namespace

std::vector<KernelResources> read_resources(const std::string& ptxas_output) {
  static const std::regex entry(R"(Compiling entry function '([^']+)')");
  static const std::regex function(R"(Function properties for (\S+))");
  static const std::regex stack(
      R"((\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads)");
  static const std::regex used(R"(Used (\d+) registers)");
  static const std::regex shared(R"((\d+)(?:\+(\d+))? bytes smem)");
  std::vector<KernelResources> kernels;
  std::string entry_name, properties_of;
  std::smatch match;
  const auto number = [&](int group) { return std::atoi(match[group].str().c_str()); };
  for (const std::string& line : lines_of(ptxas_output)) {
    if (std::regex_search(line, match, entry)) {
      entry_name = match[1];
      kernels.push_back({demangled(entry_name)});
    } else if (std::regex_search(line, match, function)) {
      properties_of = match[1];
    }
    if (kernels.empty()) {
      continue;
    }
    KernelResources& kernel = kernels.back();
    if (properties_of == entry_name && std::regex_search(line, match, stack)) {
      kernel.local_bytes = number(1);
      kernel.spill_store_bytes = number(2);
      kernel.spill_load_bytes = number(3);
    }
    if (std::regex_search(line, match, used)) {
      kernel.registers = number(1);
    }
    if (std::regex_search(line, match, shared)) {
      kernel.shared_bytes = number(1) + number(2);
    }
  }
  return kernels;
}

int most_registers(std::uint64_t threads) {
  int registers = kMostRegisters;
  while (registers > 0 && blocks_at_once(registers, threads, 0) == 0) {
    --registers;
  }
  return registers;
}

std::string same_name(const std::string& function) {
  return function.substr(0, function.find(" [clone "));
}

std::string short_name(const std::string& function) {
  std::string name = same_name(function);
  if (!name.empty() && name.back() == ')') {
    name.resize(opening(name, name.size() - 1));
  }
  for (const std::string part : {"(anonymous namespace)::", "onepass::", "void "}) {
    for (std::size_t at; (at = name.find(part)) != std::string::npos;) {
      name.erase(at, part.size());
    }
  }
  const std::size_t arguments = name.find('<');
  return name.size() > kLongName && arguments != std::string::npos
             ? name.substr(0, arguments) + "<...>"
             : name;
}

}  // namespace onepass::driver
