#include "ptx_lowering.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>
#include <optional>

#include "ptx_table.h"

namespace onepass::rewriter {
namespace {

using Parts = std::vector<std::string>;

Parts split(const std::string& text, char at) {
  Parts parts(1);
  for (const char c : text) {
    if (c == at) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

/// Is this part of an instruction's name one of ".v2|.v4|@type"?
bool is_one_of(const std::string& part, const std::string& choices) {
  for (const std::string& choice : split(choices, '|')) {
    if (choice[0] == '@' ? is_one_of(part, ptx_parts(choice)) : choice == part) return true;
  }
  return false;
}

/// The lists of a pattern are disjoint where one of them may be absent, so the first that fits is
/// the one that is meant.
bool fits(const std::string& pattern, const Parts& name) {
  std::size_t next = 0;
  for (std::string element : split(pattern, ' ')) {
    const bool may_be_absent = element.back() == '?';
    if (may_be_absent) element.pop_back();
    if (next < name.size() && is_one_of(name[next], element)) {
      ++next;
    } else if (!may_be_absent) {
      return false;
    }
  }
  return next == name.size();
}

/// "ld.global.v4.f32" as "ld", ".global", ".v4", ".f32".
Parts parts_of(const std::string& name) {
  Parts parts = split(name, '.');
  for (std::size_t i = 1; i < parts.size(); ++i) parts[i].insert(0, ".");
  return parts;
}

/// What an instruction may use as a register.
struct Register {
  std::string cpp;  // its name, or how its value is had
  char kind;        // as of a type; n: a number that the compiler knows
  int bits;
};

/// %tid.x and its kin, which are 32 bits wide.
std::optional<Register> special_register(const std::string& name) {
  static const std::map<std::string, std::string> kRows = {
      {"%tid", "threadIdx"}, {"%ntid", "blockDim"}, {"%ctaid", "blockIdx"}, {"%nctaid", "gridDim"}};
  if (name == "%laneid") return Register{"::simulator::ptx::lane()", 'u', 32};
  const std::size_t dot = name.find('.');
  const auto row = kRows.find(name.substr(0, dot));
  if (row == kRows.end() || dot == std::string::npos || !is_one_of(name.substr(dot), ".x|.y|.z")) {
    return std::nullopt;
  }
  return Register{"::simulator::" + row->second + name.substr(dot), 'u', 32};
}

/// The lowering of one asm statement.
class Lowering {
 public:
  explicit Lowering(const std::vector<AsmOperand>& operands) {
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const char constraint = operands[i].constraint;
      const bool is_float = constraint == 'f' || constraint == 'd';
      const int bits = constraint == 'h' ? 16 : constraint == 'r' || constraint == 'f' ? 32 : 64;
      const char kind = is_float ? 'f' : constraint == 'n' ? 'n' : 'b';
      registers_["%" + std::to_string(i)] = {register_name(i), kind, bits};
    }
  }

  std::string run(const PtxText& text) {
    for (const PtxRegister& declared : text.registers) declare(declared);
    for (const PtxStatement& statement : text.statements) lower(statement);
    return result_;
  }

 private:
  void declare(const PtxRegister& declared) {
    const PtxType* type = declared.type.empty() ? nullptr : ptx_type(declared.type.substr(1));
    if (type == nullptr) {
      throw PtxError("registers of type " + declared.type +
                     " are not simulated: grade this on a GPU");
    }
    const auto [entry, is_new] = registers_.try_emplace(declared.name);
    Register& place = entry->second;
    if (is_new) {
      place = {"ptx_own_" + std::to_string(registers_.size()), type->kind, type->bits};
      result_ += std::string(type->cpp) + " " + place.cpp + " = ::simulator::ptx::unset<" +
                 type->cpp + ">(); ";
    } else if (place.kind != type->kind || place.bits != type->bits) {
      throw PtxError("the register " + declared.name + " is declared with two types in one asm");
    }
  }

  void lower(const PtxStatement& statement) {
    const Parts name = parts_of(statement.name);
    bool is_known = false;
    for (const PtxInstruction& row : kPtxInstructions) {
      if (!fits(row.pattern, name)) continue;
      is_known = true;
      if (!has_shape(row, statement, name)) continue;
      if (!statement.guard.empty()) {
        result_ += std::string("if (") + (statement.is_negated ? "!" : "") +
                   value(guard(statement), "pred", statement) + ") ";
      }
      result_ += "{ " + meaning(row, statement) + "; } ";
      return;
    }
    if (is_known) {
      throw PtxError("the operands of the PTX instruction " + statement.name +
                     " are not those that the simulator knows it with: compare them with the PTX "
                     "manual's, or grade this on a GPU");
    }
    throw PtxError("the PTX instruction " + statement.name +
                   " cannot be simulated on a CPU: grade this on a GPU");
  }

  static PtxOperand guard(const PtxStatement& statement) {
    return {PtxOperand::Kind::name, statement.guard};
  }

  // ---- The row's operands beside the statement's

  static bool has_shape(const PtxInstruction& row, const PtxStatement& statement,
                        const Parts& name) {
    const Parts wanted = *row.operands == '\0' ? Parts() : split(row.operands, ' ');
    if (wanted.size() != statement.operands.size()) return false;
    std::size_t vector = 0;  // how many registers stand in braces
    for (const std::string& part : name) {
      if (is_one_of(part, "@vector")) vector = static_cast<std::size_t>(part[2] - '0');
    }
    const bool is_memory = name[0] == "ld" || name[0] == "st";
    if (vector > 0 &&
        vector * static_cast<std::size_t>(ptx_type(name.back().substr(1))->bits) > 128) {
      return false;  // not before sm_100
    }
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const PtxOperand& given = statement.operands[i];
      const bool in_braces = given.kind == PtxOperand::Kind::list;
      const bool is_data = wanted[i] == (name[0] == "ld" ? "d" : "a");
      if ((given.kind == PtxOperand::Kind::address) != (wanted[i] == "[p]")) return false;
      if (wanted[i] == "0" && given.text != "0") return false;
      if (in_braces != (wanted[i][0] == '{' || (is_memory && is_data && vector > 0))) return false;
      if (is_memory && in_braces && given.parts.size() != vector) return false;
      if (wanted[i].find(":to") != std::string::npos && !is_segment(given, wanted[i])) return false;
    }
    return true;
  }

  /// The operand of shfl.sync whose upper bits divide the warp. Its lower ones are those of CUDA's
  /// shuffles, or it is another instruction.
  static bool is_segment(const PtxOperand& given, const std::string& wanted) {
    const long number = std::strtol(given.text.c_str(), nullptr, 0);
    return given.kind == PtxOperand::Kind::number &&
           (number & 31) == (wanted == "c:to0" ? 0 : 31) && (number >> 5 & 7) == 0;
  }

  std::string meaning(const PtxInstruction& row, const PtxStatement& statement) {
    const Parts wanted = *row.operands == '\0' ? Parts() : split(row.operands, ' ');
    const std::string own_type = split(statement.name, '.').back();
    const std::string cpp = ptx_type(own_type) == nullptr ? "" : ptx_type(own_type)->cpp;
    std::map<char, std::string> texts = {{'T', cpp}};
    std::string result;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const std::size_t colon = wanted[i].find(':');
      std::string type = colon == std::string::npos ? own_type : wanted[i].substr(colon + 1);
      if (type.substr(0, 2) == "to") type = "u32";
      const bool has_bracket = wanted[i][0] == '{' || wanted[i][0] == '[';
      const char letter = wanted[i][has_bracket ? 1 : 0];
      const PtxOperand& given = statement.operands[i];
      if (letter == 'p') {
        texts[letter] = address(given, statement);
      } else if (letter == 'd' && wanted[i][0] != '{' && !uses(row, 'd')) {
        result = std::string("::simulator::ptx::put<") + ptx_type(type)->cpp + ">(" +
                 place(given, type, statement) + ", ";
      } else if (given.kind == PtxOperand::Kind::list) {
        texts[letter] = list(given, type, letter == 'd', wanted[i][0] == '{', statement);
      } else if (letter != '0') {
        texts[letter] =
            letter == 'd' ? place(given, type, statement) : value(given, type, statement);
      }
    }
    return result + filled_in(row.meaning, texts) + (result.empty() ? "" : ")");
  }

  static bool uses(const PtxInstruction& row, char letter) {
    return std::string(row.meaning).find(std::string("$") + letter) != std::string::npos;
  }

  static std::string filled_in(const std::string& meaning, std::map<char, std::string>& texts) {
    std::string result;
    for (std::size_t i = 0; i < meaning.size(); ++i) {
      const bool is_name_before =
          i > 0 && (std::isalnum(static_cast<unsigned char>(meaning[i - 1])) ||
                    meaning[i - 1] == '_' || meaning[i - 1] == ':');
      if (meaning[i] == '$' && i + 1 < meaning.size()) {
        result += texts[meaning[++i]];
      } else if (meaning.compare(i, 5, "ptx::") == 0 && !is_name_before) {
        result += "::simulator::ptx::";
        i += 4;
      } else {
        result += meaning[i];
      }
    }
    return result;
  }

  // ---- One operand

  const Register& find(const PtxOperand& given, const PtxStatement& statement) {
    const auto found = registers_.find(given.text);
    if (found != registers_.end()) return found->second;
    if (const auto special = special_register(given.text)) {
      return registers_[given.text] = *special;
    }
    throw PtxError(statement.name + " names " + given.text + ", which is " +
                   (given.text[0] == '%' && std::isdigit(static_cast<unsigned char>(given.text[1]))
                        ? "more than this asm has operands"
                        : "no register that this asm declares or that the simulator has"));
  }

  /// As ptxas has it: bits go with everything, numbers with their own; loads, stores and
  /// conversions may have a wider register.
  void check_type(const PtxOperand& given, const Register& own, const std::string& name,
                  const PtxStatement& statement, int parts = 1) {
    const PtxType& type = *ptx_type(name);
    const auto is_integer = [](char kind) { return kind == 'u' || kind == 's'; };
    const bool is_predicate = type.kind == 'p' || own.kind == 'p';
    const bool same_kind = is_predicate
                               ? type.kind == own.kind
                               : type.kind == own.kind || type.kind == 'b' || own.kind == 'b' ||
                                     (is_integer(type.kind) && is_integer(own.kind));
    const bool may_be_wider = is_one_of(parts_of(statement.name)[0], "ld|st|cvt");
    const int bits = type.bits / parts;
    const bool fits = own.bits == bits || (may_be_wider && own.kind != 'f' && own.bits > bits);
    if (own.kind == 'n' ? type.kind == 'f' || type.kind == 'p' : !same_kind || !fits) {
      throw PtxError("ptxas refuses this: arguments mismatch for instruction " + statement.name +
                     ", for " + given.text + " is a register of " + std::to_string(own.bits) +
                     (own.kind == 'f' ? "-bit floating point" : " bits") + " where it has ." +
                     name + (parts > 1 ? " in parts" : ""));
    }
  }

  std::string place(const PtxOperand& given, const std::string& type, const PtxStatement& statement,
                    int parts = 1) {
    const Register& own = find(given, statement);
    if (given.kind != PtxOperand::Kind::name || own.kind == 'n' || own.cpp[0] == ':') {
      throw PtxError("the result of " + statement.name + " has to be a register");
    }
    check_type(given, own, type, statement, parts);
    return own.cpp;
  }

  std::string value(const PtxOperand& given, const std::string& name,
                    const PtxStatement& statement) {
    const PtxType& type = *ptx_type(name);
    const std::string of_type = std::string("<") + type.cpp + ">(";
    if (given.kind == PtxOperand::Kind::number) return number(given.text, type, statement);
    const Register& own = find(given, statement);
    check_type(given, own, name, statement);
    if (own.kind == 'n') return "static_cast" + of_type + own.cpp + ")";
    return "::simulator::ptx::get" + of_type + own.cpp + ")";
  }

  /// A number, written anew. 0f3F800000 is one by its bits, and so is an integer where bits are
  /// asked for.
  static std::string number(const std::string& text, const PtxType& type,
                            const PtxStatement& statement) {
    const std::string digits = text.substr(text[0] == '-' ? 1 : 0);
    const std::string begin = digits.substr(0, 2);
    const bool is_hex_float = begin == "0f" || begin == "0F" || begin == "0d" || begin == "0D";
    const bool is_float = !is_hex_float && digits.find('.') != std::string::npos;
    char* end = nullptr;
    const std::string meant = is_hex_float ? "0x" + digits.substr(2) : digits;
    const unsigned long long bits = std::strtoull(meant.c_str(), &end, 0);
    const double real = is_float ? std::strtod(digits.c_str(), &end) : 0.0;
    const std::string rest = end;
    const bool is_plain = rest.empty() || rest == "U" || rest == "u";
    const bool is_hex_of_type =
        is_hex_float && digits.size() == (type.bits == 64 ? 18 : 10) && type.kind == 'f';
    if (!is_plain || (is_hex_float && !is_hex_of_type) ||
        is_float != (type.kind == 'f' && is_float) ||
        (!is_hex_float && !is_float && (type.kind == 'f' || type.kind == 'h'))) {
      throw PtxError("ptxas refuses this: " + text + " is no number of the type that " +
                     statement.name + " has there");
    }
    const std::string sign = text[0] == '-' ? "-" : "";
    const std::string cpp = type.cpp;
    if (is_float) {
      char written[64];
      std::snprintf(written, sizeof written, "%a", real);
      return "static_cast<" + cpp + ">(" + sign + written + ")";
    }
    if (is_hex_float) {
      return sign + "::simulator::from_bits<" + cpp + ">(" + std::to_string(bits) + "ull)";
    }
    return "static_cast<" + cpp + ">(" + sign + std::to_string(bits) + "ull)";
  }

  std::string address(const PtxOperand& given, const PtxStatement& statement) {
    const Register& own = find({PtxOperand::Kind::name, given.text}, statement);
    const bool is_shared = statement.name.find(".shared") != std::string::npos;
    if (own.kind == 'n' || own.kind == 'f' || own.kind == 'p' ||
        (own.bits != 64 && !(is_shared && own.bits == 32))) {
      throw PtxError("the address of " + statement.name +
                     " has to be in a register of 64 bits (\"l\")" +
                     (is_shared ? " or, in shared memory, of 32 (\"r\")" : ""));
    }
    return "::simulator::ptx::get<unsigned long long>(" + own.cpp + ")" +
           (given.offset == 0
                ? ""
                : " + static_cast<unsigned long long>(" + std::to_string(given.offset) + "ll)");
  }

  /// in_parts: together they are one register of the type, else each is.
  std::string list(const PtxOperand& given, const std::string& type, bool is_result, bool in_parts,
                   const PtxStatement& statement) {
    std::string result;
    for (const PtxOperand& part : given.parts) {
      const int parts = in_parts ? static_cast<int>(given.parts.size()) : 1;
      result += result.empty() ? "" : ", ";
      if (is_result || in_parts) {
        if (parts != 1 && parts != 2 && parts != 4) {
          throw PtxError("the list of registers of " + statement.name + " has a wrong length");
        }
        if (part.kind == PtxOperand::Kind::number) {
          throw PtxError("the parts of " + statement.name + " have to be registers");
        }
        result += is_result ? place(part, type, statement, parts)
                            : checked_part(part, type, statement, parts);
      } else {
        result += value(part, type, statement);
      }
    }
    return result;
  }

  std::string checked_part(const PtxOperand& part, const std::string& type,
                           const PtxStatement& statement, int parts) {
    const Register& own = find(part, statement);
    if (own.kind == 'n') throw PtxError("the parts of " + statement.name + " have to be registers");
    check_type(part, own, type, statement, parts);
    return own.cpp;
  }

  std::map<std::string, Register> registers_;
  std::string result_;
};

}  // namespace

const char* register_type(char constraint) {
  switch (constraint) {
    case 'r':
      return "unsigned";
    case 'l':
      return "unsigned long long";
    case 'h':
      return "unsigned short";
    case 'f':
      return "float";
    case 'd':
      return "double";
    case 'n':
      return "long long";
    default:
      return nullptr;
  }
}

std::string register_name(std::size_t operand) {
  return "ptx_" + std::to_string(operand);
}

std::string lower_ptx(const std::string& text, const std::vector<AsmOperand>& operands) {
  return Lowering(operands).run(parse_ptx(text));
}

}  // namespace onepass::rewriter
