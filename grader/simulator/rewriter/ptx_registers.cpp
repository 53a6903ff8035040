#include "ptx_registers.h"

#include <cctype>
#include <cstdlib>
#include <optional>

#include "ptx_pattern.h"
#include "ptx_table.h"

namespace onepass::rewriter {
namespace {

/// %tid.x and its kin, which are 32 bits wide.
std::optional<PtxRegister> special_register(const std::string& name) {
  static const std::map<std::string, std::string> kRows = {{"%tid", "threadIdx"},
                                                           {"%ntid", "blockDim"},
                                                           {"%ctaid", "blockIdx"},
                                                           {"%nctaid", "gridDim"},
                                                           {"%cluster_ctaid", "place_in_cluster()"},
                                                           {"%cluster_nctaid", "cluster_size()"},
                                                           {"%clusterid", "place_of_cluster()"},
                                                           {"%nclusterid", "number_of_clusters()"}};
  if (name == "%laneid") return PtxRegister{"::simulator::ptx::lane()", 'u', 32};
  if (name == "%cluster_ctarank") return PtxRegister{"::simulator::rank_in_cluster()", 'u', 32};
  if (name == "%cluster_nctarank") return PtxRegister{"::simulator::cluster_blocks()", 'u', 32};
  const std::size_t dot = name.find('.');
  const auto row = kRows.find(name.substr(0, dot));
  if (row == kRows.end() || dot == std::string::npos || !is_one_of(name.substr(dot), ".x|.y|.z")) {
    return std::nullopt;
  }
  return PtxRegister{"::simulator::" + row->second + name.substr(dot), 'u', 32};
}

/// A number, written anew. 0f3F800000 is one by its bits, and so is an integer where bits are
/// asked for.
std::string number(const std::string& text, const PtxType& type, const PtxStatement& statement) {
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

/// Loads and stores may have a wider register; so may conversions, but not those of bfloat16 and
/// fp8. ptxas has it so.
bool may_be_wider(const PtxStatement& statement) {
  const std::vector<std::string> name = parts_of(statement.name);
  for (const std::string& part : name) {
    if (is_one_of(part, ".bf16|.bf16x2|.e4m3x2|.e5m2x2")) return false;
  }
  return is_one_of(name[0], "ld|st|cvt");
}

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

PtxRegisters::PtxRegisters(const std::vector<AsmOperand>& operands) : scopes_(1) {
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const char constraint = operands[i].constraint;
    const bool is_float = constraint == 'f' || constraint == 'd';
    const int bits = constraint == 'h' ? 16 : constraint == 'r' || constraint == 'f' ? 32 : 64;
    const char kind = is_float ? 'f' : constraint == 'n' ? 'n' : 'b';
    scopes_[0]["%" + std::to_string(i)] = {register_name(i), kind, bits};
  }
}

std::string PtxRegisters::declare(const PtxStatement& statement) {
  const std::string type_name = statement.name.substr(4);  // after ".reg"
  const PtxType* type = type_name.empty() ? nullptr : ptx_type(type_name.substr(1));
  if (type == nullptr) {
    throw PtxError("registers of type " + type_name + " are not simulated: grade this on a GPU");
  }
  std::string result;
  for (const PtxOperand& own : statement.operands) {
    const std::string cpp = "ptx_own_" + std::to_string(++declared_);
    const PtxRegister place = {cpp, type->kind, type->bits};
    if (!scopes_.back().try_emplace(own.text, place).second) {
      throw PtxError("ptxas refuses this: the register " + own.text +
                     " is declared twice in one scope");
    }
    result += std::string("[[maybe_unused]] ") + type->cpp + " " + cpp +
              " = ::simulator::ptx::unset<" + type->cpp + ">(); ";
  }
  return result;
}

void PtxRegisters::declare_label(const PtxStatement& statement) {
  const std::string name = statement.name.substr(0, statement.name.size() - 1);
  if (scopes_.size() == 1) {
    throw PtxError(
        "the label " + name +
        " stands outside of { }: ptxas finds it twice where the compiler has made two of "
        "this asm. Put { and } around its instructions");
  }
  if (!scopes_.back().try_emplace(name, PtxRegister{name, ':', 0}).second) {
    throw PtxError("ptxas refuses this: duplicate definition of label " + name);
  }
}

PtxRegister PtxRegisters::find(const PtxOperand& given, const PtxStatement& statement) const {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    const auto found = scope->find(given.text);
    if (found != scope->end()) return found->second;
  }
  if (const auto special = special_register(given.text)) return *special;
  if (given.kind == PtxOperand::Kind::number) {
    throw PtxError(statement.name + " has a number where a register belongs");
  }
  throw PtxError(statement.name + " names " + given.text + ", which is " +
                 (given.text[0] == '%' && std::isdigit(static_cast<unsigned char>(given.text[1]))
                      ? "more than this asm has operands"
                      : "no register that this asm declares or that the simulator has"));
}

/// As ptxas has it: bits go with everything, numbers with their own.
void PtxRegisters::check_type(const PtxOperand& given, const PtxRegister& own,
                              const std::string& name, const PtxStatement& statement,
                              int parts) const {
  const PtxType& type = *ptx_type(name);
  const auto is_integer = [](char kind) { return kind == 'u' || kind == 's'; };
  const bool is_predicate = type.kind == 'p' || own.kind == 'p';
  const bool same_kind = is_predicate
                             ? type.kind == own.kind
                             : type.kind == own.kind || type.kind == 'b' || own.kind == 'b' ||
                                   (is_integer(type.kind) && is_integer(own.kind));
  const int bits = type.bits / parts;
  const bool fits =
      own.bits == bits || (own.kind != 'f' && own.bits > bits && may_be_wider(statement));
  if (own.kind == 'n' ? type.kind == 'f' || type.kind == 'p' : !same_kind || !fits) {
    throw PtxError("ptxas refuses this: arguments mismatch for instruction " + statement.name +
                   ", for " + given.text + " is a register of " + std::to_string(own.bits) +
                   (own.kind == 'f' ? "-bit floating point" : " bits") + " where it has ." + name +
                   (parts > 1 ? " in parts" : ""));
  }
}

std::string PtxRegisters::place(const PtxOperand& given, const std::string& type,
                                const PtxStatement& statement, int parts) const {
  const PtxRegister own = find(given, statement);
  if (given.kind != PtxOperand::Kind::name || own.kind == 'n' || own.cpp[0] == ':') {
    throw PtxError("the result of " + statement.name + " has to be a register");
  }
  check_type(given, own, type, statement, parts);
  return own.cpp;
}

std::string PtxRegisters::value(const PtxOperand& given, const std::string& name,
                                const PtxStatement& statement) const {
  const PtxType& type = *ptx_type(name);
  const std::string of_type = std::string("<") + type.cpp + ">(";
  if (given.kind == PtxOperand::Kind::number) return number(given.text, type, statement);
  const PtxRegister own = find(given, statement);
  check_type(given, own, name, statement);
  if (own.kind == 'n') return "static_cast" + of_type + own.cpp + ")";
  return "::simulator::ptx::get" + of_type + own.cpp + ")";
}

std::string PtxRegisters::constant(const PtxOperand& given, const PtxStatement& statement) const {
  if (given.kind == PtxOperand::Kind::name && find(given, statement).kind != 'n') {
    throw PtxError("ptxas refuses this: arguments mismatch for instruction " + statement.name +
                   ", for " + given.text + " has to be a number or an operand \"n\"");
  }
  return value(given, "u32", statement);
}

std::string PtxRegisters::address(const PtxOperand& given, bool is_shared,
                                  const PtxStatement& statement) const {
  const PtxRegister own = find({PtxOperand::Kind::name, given.text}, statement);
  if (own.kind == 'n' || own.kind == 'f' || own.kind == 'p' ||
      (own.bits != 64 && !(is_shared && own.bits == 32))) {
    throw PtxError("the address of " + statement.name +
                   " has to be in a register of 64 bits (\"l\")" +
                   (is_shared ? " or, in shared memory, of 32 (\"r\")" : ""));
  }
  const std::string offset = std::to_string(given.offset);
  return "::simulator::ptx::get<unsigned long long>(" + own.cpp + ")" +
         (given.offset == 0 ? "" : " + static_cast<unsigned long long>(" + offset + "ll)");
}

std::string PtxRegisters::list(const PtxOperand& given, const std::string& type, bool is_result,
                               bool in_parts, const PtxStatement& statement) const {
  const int parts = in_parts ? static_cast<int>(given.parts.size()) : 1;
  if (parts != 1 && parts != 2 && parts != 4) {
    throw PtxError("the list of registers of " + statement.name + " has a wrong length");
  }
  std::string result;
  for (const PtxOperand& part : given.parts) {
    result += result.empty() ? "" : ", ";
    if (is_result) {
      result += place(part, type, statement, parts);
    } else if (!in_parts) {
      result += value(part, type, statement);
    } else {
      const PtxRegister own = find(part, statement);
      if (own.kind == 'n') {
        throw PtxError("the parts of " + statement.name + " have to be registers");
      }
      check_type(part, own, type, statement, parts);
      result += own.cpp;
    }
  }
  return result;
}

}  // namespace onepass::rewriter
