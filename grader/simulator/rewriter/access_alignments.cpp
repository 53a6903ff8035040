#include "access_alignments.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>
#include <string_view>
#include <utility>

namespace onepass::rewriter {
namespace {

constexpr unsigned kMost = 256;  // bytes: as far as device memory is aligned

/// Of the calls of one function, by the number of the instruction: bytes.
using Alignments = std::map<unsigned, unsigned>;

unsigned number_at(std::string_view text, std::size_t begin) {
  unsigned number = 0;
  for (; begin < text.size() && std::isdigit(static_cast<unsigned char>(text[begin])); ++begin) {
    number = number * 10 + static_cast<unsigned>(text[begin] - '0');
  }
  return number;
}

/// The next piece of `text` up to `end`, which is taken off it.
std::string_view take(std::string_view& text, std::string_view end) {
  const std::size_t length = std::min(text.find(end), text.size());
  const std::string_view piece = text.substr(0, length);
  text.remove_prefix(std::min(length + end.size(), text.size()));
  return piece;
}

/// The alignment of the first memory that the instruction reads or writes, in bytes; 0: it does
/// not. "(set (mem:TI (reg:DI 87) [6 *_8+0 S16 A32]) ...": 4. What lies on the stack is none of it:
/// such stores may come between a call and its access.
unsigned alignment_of(std::string_view instruction, bool is_write) {
  constexpr std::string_view kMemory = "(mem", kTarget = "(set ";
  for (std::size_t at = instruction.find(kMemory); at != std::string_view::npos;
       at = instruction.find(kMemory, at + 1)) {
    const bool is_target =
        at >= kTarget.size() && instruction.substr(at - kTarget.size(), kTarget.size()) == kTarget;
    const std::size_t end = instruction.find(']', instruction.find(" S", at));
    const std::size_t bits = instruction.rfind(" A", end);
    const bool on_stack =
        instruction.substr(at, end - at).find("virtual-stack-vars") != std::string_view::npos;
    if (is_target == is_write && !on_stack && end != std::string_view::npos && bits > at) {
      return number_at(instruction, bits + 2) / 8;
    }
  }
  return 0;
}

/// A call whose access has not come yet.
struct Pending {
  unsigned call = 0;  // 0: none
  bool is_write;

  void look_into(std::string_view instruction, Alignments& found) {
    const unsigned alignment = call == 0 ? 0 : alignment_of(instruction, is_write);
    if (alignment > 0) found[std::exchange(call, 0)] = std::min(alignment, kMost);
  }
};

/// The instructions of one function, of which each begins a line.
Alignments alignments_in(std::string_view instructions) {
  Alignments found;
  Pending read{0, false}, write{0, true};
  while (!instructions.empty()) {
    const std::string_view instruction = take(instructions, "\n(");
    const bool is_call = instruction.substr(0, 10) == "call_insn ";
    const bool reads = is_call && instruction.find("\"__tsan_read") != std::string_view::npos;
    const bool writes = is_call && instruction.find("\"__tsan_write") != std::string_view::npos;
    if (reads || writes) {
      (reads ? read : write).call = number_at(instruction, 10);
    } else if (instruction.substr(0, 5) == "insn ") {
      read.look_into(instruction, found);
      write.look_into(instruction, found);
    } else if (instruction.substr(0, 10) == "jump_insn " || is_call) {
      read.call = write.call = 0;
    }
  }
  return found;
}

/// By the function's name in the assembly: ";; Function name (mangled, funcdef_no=...".
std::map<std::string_view, Alignments> alignments_of_functions(std::string_view dump) {
  constexpr std::string_view kFunction = "\n;; Function ";
  std::map<std::string_view, Alignments> found;
  take(dump, kFunction);
  while (!dump.empty()) {
    std::string_view function = take(dump, kFunction);
    std::string_view title = take(function, ", funcdef_no");
    title.remove_prefix(std::min(title.rfind('(') + 1, title.size()));
    take(function, "Full RTL generated");
    found[title] = alignments_in(function);
  }
  return found;
}

/// The name that is called, "__tsan_read16", if its access can be narrower than its size.
std::string_view called(std::string_view line) {
  for (const std::string_view name :
       {"__tsan_read_range", "__tsan_write_range", "__tsan_read16", "__tsan_write16"}) {
    const std::size_t at = line.find(name);
    if (at != std::string_view::npos) return line.substr(at, name.size());
  }
  return {};
}

}  // namespace

std::string with_alignments(const std::string& assembly, const std::string& dump) {
  const auto functions = alignments_of_functions(dump);
  const Alignments* function = nullptr;
  std::string result;
  result.reserve(assembly.size() + assembly.size() / 64);
  for (std::string_view left = assembly; !left.empty();) {
    const std::string_view line = take(left, "\n");
    if (!line.empty() && line.back() == ':') {
      const auto known = functions.find(line.substr(0, line.size() - 1));
      if (known != functions.end()) function = &known->second;
    }
    // "call __tsan_read16@PLT # 38 [c=0 l=5] *call", with tabs: the number of the instruction.
    const std::size_t comment = line.rfind("\t[c=");
    const std::string_view code = line.substr(0, comment);
    const std::string_view name = function == nullptr ? std::string_view() : called(code);
    const auto alignment = name.empty() ? Alignments::const_iterator()
                                        : function->find(number_at(code, code.rfind(' ') + 1));
    // g++ calls those for 16 bytes only where it knows of 8.
    const bool is_16 = !name.empty() && name.back() == '6';
    if (!name.empty() && alignment != function->end() && alignment->second >= (is_16 ? 8 : 1)) {
      const std::size_t end = static_cast<std::size_t>(name.data() - line.data()) + name.size();
      result.append(line.substr(0, end));
      result.append("_aligned_" + std::to_string(std::min(alignment->second, is_16 ? 16 : kMost)));
      result.append(line.substr(end));
    } else {
      result.append(line);
    }
    result += '\n';
  }
  return result;
}

}  // namespace onepass::rewriter
