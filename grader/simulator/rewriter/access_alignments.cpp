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

/// What an instruction reads or writes: bytes, and at which distance from which register's address.
struct Memory {
  unsigned alignment = 0;  // 0: it does not
  unsigned size = 0;
  unsigned base = 0, offset = 0;  // 0: another kind of address
};

/// "(mem:SF (plus:DI (reg/f:DI 85 [ _4 ]) (const_int 4 [0x4])) [2 _4->second+0 S4 A32]"
Memory memory_in(std::string_view text, std::size_t alignment) {
  Memory memory;
  memory.alignment = number_at(text, alignment + 2) / 8;
  memory.size = number_at(text, text.rfind(" S", alignment) + 2);
  constexpr std::string_view kRegister = "(reg", kPlus = "(plus:DI ", kNumber = "(const_int ";
  const std::size_t base = text.find(kRegister), number = text.find(kNumber);
  const bool has_offset = text.find(kPlus) < base;
  const bool is_plain = text.find(kRegister, base + 1) == std::string_view::npos &&
                        has_offset == (number != std::string_view::npos) &&
                        text.find("(mult") == std::string_view::npos;
  if (base != std::string_view::npos && is_plain) {
    memory.base = number_at(text, text.find(' ', base) + 1);
    memory.offset = has_offset ? number_at(text, number + kNumber.size()) : 0;
  }
  return memory;
}

/// Where " A64]" begins that ends what stands behind a memory: " S16 A64]", after an expression
/// that may have brackets, and structures whose names begin with S.
std::size_t alignment_in(std::string_view text, std::size_t from) {
  constexpr std::string_view kDigits = "0123456789";
  for (std::size_t at = text.find(" S", from); at != std::string_view::npos;
       at = text.find(" S", at + 1)) {
    const std::size_t bits = text.find_first_not_of(kDigits, at + 2);
    if (bits == std::string_view::npos || bits == at + 2 || text.substr(bits, 2) != " A") {
      continue;
    }
    const std::size_t end = text.find_first_not_of(kDigits, bits + 2);
    if (end != std::string_view::npos && end > bits + 2 && text[end] == ']') {
      return bits;
    }
  }
  return std::string_view::npos;
}

/// The first memory that the instruction reads or writes: "(set (mem:TI (reg:DI 87) [6 *_8+0 S16
/// A32]) ...": 16 bytes, aligned to 4. What lies on the stack is none of it: such stores may come
/// between a call and its access.
Memory memory_of(std::string_view instruction, bool is_write) {
  constexpr std::string_view kMemory = "(mem", kTarget = "(set ";
  for (std::size_t at = instruction.find(kMemory); at != std::string_view::npos;
       at = instruction.find(kMemory, at + 1)) {
    const bool is_target =
        at >= kTarget.size() && instruction.substr(at - kTarget.size(), kTarget.size()) == kTarget;
    const std::size_t bits = alignment_in(instruction, at);
    const std::size_t end = instruction.find(']', bits);
    const bool on_stack =
        instruction.substr(at, end - at).find("virtual-stack-vars") != std::string_view::npos;
    if (is_target == is_write && !on_stack && end != std::string_view::npos) {
      return memory_in(instruction.substr(at, end - at), bits - at);
    }
  }
  return {};
}

/// Neighbours that nvcc reads or writes at once, as members of one structure: so many, of `size`
/// bytes each, the first of them with a call.
struct Neighbours {
  unsigned call = 0;
  Memory first = {};
  unsigned count = 0;

  void add(unsigned next_call, const Memory& next, Alignments& found) {
    const bool is_next = count > 0 && next.base != 0 && next.base == first.base &&
                         next.size == first.size &&
                         next.offset == first.offset + count * first.size;
    if (!is_next) *this = {next_call, next, 0};
    ++count;
    const unsigned bytes = count * first.size;
    if ((count == 2 || count == 4) && bytes <= std::min(first.alignment, 16u)) found[call] = bytes;
  }
};

/// A call whose access has not come yet.
struct Pending {
  bool is_write;
  unsigned call = 0;  // 0: none
  bool is_scalar = false;
  Neighbours neighbours = {};

  void begin(std::string_view instruction) {
    call = number_at(instruction, 10);
    is_scalar = instruction.find("4\")") != std::string_view::npos ||
                instruction.find("8\")") != std::string_view::npos;
  }
  void look_into(std::string_view instruction, Alignments& found) {
    const Memory memory = call == 0 ? Memory{} : memory_of(instruction, is_write);
    if (memory.alignment == 0) return;
    if (is_scalar) {
      neighbours.add(call, memory, found);
    } else {
      found[call] = std::min(memory.alignment, kMost);
    }
    call = 0;
  }
  void end() {
    call = 0;
    neighbours = {};
  }
};

/// The instructions of one function, of which each begins a line.
Alignments alignments_in(std::string_view instructions) {
  Alignments found;
  Pending read{false}, write{true};
  while (!instructions.empty()) {
    const std::string_view instruction = take(instructions, "\n(");
    const bool is_call = instruction.substr(0, 10) == "call_insn ";
    const bool reads = is_call && instruction.find("\"__tsan_read") != std::string_view::npos;
    const bool writes = is_call && instruction.find("\"__tsan_write") != std::string_view::npos;
    if (reads || writes) {
      (reads ? read : write).begin(instruction);
    } else if (instruction.substr(0, 5) == "insn ") {
      read.look_into(instruction, found);
      write.look_into(instruction, found);
    } else if (instruction.substr(0, 10) == "jump_insn " || is_call ||
               instruction.substr(0, 11) == "code_label ") {
      read.end();
      write.end();
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
       {"__tsan_read_range", "__tsan_write_range", "__tsan_read16", "__tsan_write16",
        "__tsan_read4", "__tsan_write4", "__tsan_read8", "__tsan_write8"}) {
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
