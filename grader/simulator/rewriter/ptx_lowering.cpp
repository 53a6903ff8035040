#include "ptx_lowering.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>

#include "ptx_pattern.h"
#include "ptx_table.h"
#include "ptx_wait_loops.h"

namespace onepass::rewriter {
namespace {

using Parts = std::vector<std::string>;

/// The lowering of one asm statement.
class Lowering {
 public:
  explicit Lowering(const std::vector<AsmOperand>& operands) : registers_(operands) {}

  std::string run(const std::vector<PtxStatement>& statements) {
    for (std::size_t i = 0; i < statements.size(); ++i) {
      try {
        if (is_label(statements[i])) {
          i = lower_loop(statements, i) - 1;
        } else {
          lower(statements[i]);
        }
      } catch (const PtxError& error) {
        throw PtxError(error.what(), statements[i].place);
      }
    }
    return result_;
  }

 private:
  /// The answer is the statement behind it.
  std::size_t lower_loop(const std::vector<PtxStatement>& statements, std::size_t first) {
    const PtxWaitLoop loop = wait_loop_at(statements, first);
    for (const std::size_t label : loop.labels) registers_.declare_label(statements[label]);
    const PtxStatement& asks = statements[loop.asks];
    result_ += "for (;;) { ";
    lower(asks);
    result_ += "if (" + registers_.value(asks.operands[0], "pred", asks) + ") break; ";
    if (loop.sleeps != 0) lower(statements[loop.sleeps]);
    result_ += "} ";
    return loop.end;
  }

  void lower(const PtxStatement& statement) {
    if (statement.name == "{") return registers_.open_scope();
    if (statement.name == "}") return registers_.close_scope();
    const Parts name = in_order(parts_of(statement.name));
    if (name[0].empty()) {
      result_ += registers_.declare(statement);
      return;
    }
    bool is_known = false;
    for (const PtxInstruction& row : kPtxInstructions) {
      if (!fits(row.pattern, name)) continue;
      is_known = true;
      if (!has_shape(row, statement, name)) continue;
      if (!statement.guard.empty()) {
        const PtxOperand guard = {PtxOperand::Kind::name, statement.guard};
        result_ += std::string("if (") + (statement.is_negated ? "!" : "") +
                   registers_.value(guard, "pred", statement) + ") ";
      }
      result_ += "{ " + meaning(row, statement) + "; } ";
      return;
    }
    if (is_known) {
      throw PtxError("the operands of the PTX instruction " + statement.name +
                     " are not those that the simulator knows it with: compare them with the PTX "
                     "manual's, or grade this on a GPU");
    }
    throw PtxError(
        "the PTX instruction " + statement.name +
        " cannot be simulated on a CPU: grade this on a GPU, or write other code for the "
        "simulator, behind #ifndef __NVCC__");
  }

  /// "atom.add.release.gpu.u32", as CUDA's own headers write it, is "atom.release.gpu.add.u32".
  static Parts in_order(Parts name) {
    if (name[0] == "atom" || name[0] == "red") {
      std::stable_partition(name.begin() + 1, name.end(), [](const std::string& part) {
        return is_one_of(part, "@order|@scope|@memory");
      });
    }
    return name;
  }

  /// $O: two arguments.
  static std::string order_of(const Parts& name) {
    std::string order = "relaxed", scope = "device";
    for (const std::string& part : name) {
      if (is_one_of(part, "@order")) order = part.substr(1);
      if (part == ".cta") scope = "block";
      if (part == ".sys") scope = "system";
    }
    return "::simulator::ptx::Order::" + order + ", ::simulator::FenceScope::" + scope;
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
      if ((given.kind == PtxOperand::Kind::pair) != (wanted[i] == "d|e")) return false;
      const bool is_data = wanted[i] == (name[0] == "ld" ? "d" : "a");
      if ((given.kind == PtxOperand::Kind::address) != (wanted[i][0] == '[')) return false;
      if ((wanted[i] == "0" || wanted[i] == "_") && given.text != wanted[i]) return false;
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
    const long width = 32 - (number >> 8 & 31);
    return given.kind == PtxOperand::Kind::number && (width & (width - 1)) == 0 &&
           (number & 31) == (wanted == "c:to0" ? 0 : 31) && (number >> 5 & 7) == 0;
  }

  std::string meaning(const PtxInstruction& row, const PtxStatement& statement) {
    const Parts wanted = *row.operands == '\0' ? Parts() : split(row.operands, ' ');
    const std::string own_type = split(statement.name, '.').back();
    const std::string cpp = ptx_type(own_type) == nullptr ? "" : ptx_type(own_type)->cpp;
    std::map<char, std::string> texts = {{'T', cpp}, {'O', order_of(parts_of(statement.name))}};
    std::string result;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const std::size_t colon = wanted[i].find(':');
      std::string type = colon == std::string::npos ? own_type : wanted[i].substr(colon + 1);
      if (type.substr(0, 2) == "to") type = "u32";
      const bool has_bracket = wanted[i][0] == '{' || wanted[i][0] == '[';
      const char letter = wanted[i][has_bracket ? 1 : 0];
      const PtxOperand& given = statement.operands[i];
      if (wanted[i][0] == '[') {
        const bool says_shared = statement.name.find(".shared") != std::string::npos;
        const bool is_shared = letter == 'p' ? says_shared : letter != 'q';
        texts[letter] = registers_.address(given, is_shared, statement);
        const bool is_global = statement.name.find(".global") != std::string::npos;
        const std::string space = is_shared ? "shared" : is_global ? "global" : "anywhere";
        if (letter == 'p') texts['P'] = "::simulator::ptx::" + space + "_at(" + texts['p'] + ")";
      } else if (given.kind == PtxOperand::Kind::pair) {
        if (given.parts[0].text != "_") result = put(given.parts[0], "u32", statement);
        texts['e'] = registers_.place(given.parts[1], "pred", statement);
      } else if (given.text == "_" && (wanted[i] == "_" || wanted[i] == "d|_")) {
        continue;
      } else if (type == "constant") {
        texts[letter] = registers_.constant(given, statement);
      } else if (letter == 'd' && wanted[i][0] != '{' && !uses(row, 'd')) {
        result = put(given, type, statement);
      } else if (given.kind == PtxOperand::Kind::list) {
        texts[letter] = registers_.list(given, type, letter == 'd', wanted[i][0] == '{', statement);
      } else if (letter != '0') {
        texts[letter] = letter == 'd' ? registers_.place(given, type, statement)
                                      : registers_.value(given, type, statement);
      }
    }
    return result + filled_in(row.meaning, texts) + (result.empty() ? "" : ")");
  }

  /// The beginning of the call that puts a result there.
  std::string put(const PtxOperand& given, const std::string& type,
                  const PtxStatement& statement) const {
    return std::string("::simulator::ptx::put<") + ptx_type(type)->cpp + ">(" +
           registers_.place(given, type, statement) + ", ";
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

  PtxRegisters registers_;
  std::string result_;
};

}  // namespace

std::string lower_ptx(const std::string& text, const std::vector<AsmOperand>& operands) {
  return Lowering(operands).run(parse_ptx(text));
}

}  // namespace onepass::rewriter
