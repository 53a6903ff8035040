// Writes out every instruction of the simulator's PTX table, with registers of its types: the
// simulator must take each and make C++ of it, and ptxas must take it where there is a CUDA
// toolkit.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "process/process.h"
#include "simulator/rewriter/ptx_lowering.h"
#include "simulator/rewriter/ptx_pattern.h"
#include "simulator/rewriter/ptx_table.h"

namespace {

using onepass::rewriter::PtxInstruction;
using onepass::rewriter::split;
namespace fs = std::filesystem;
using Parts = std::vector<std::string>;

// Registers that all instructions share: their letters by what ptxas calls their types.
const std::map<std::string, std::string> kRegisters = {
    {"h", ".b16"}, {"r", ".b32"}, {"l", ".b64"}, {"f", ".f32"}, {"d", ".f64"}, {"p", ".pred"}};
constexpr int kOfEach = 24;

std::string declarations() {
  std::string text;
  for (const auto& [letter, type] : kRegisters) {
    text += ".reg " + type + " ";
    for (int i = 0; i < kOfEach; ++i) text += (i > 0 ? ", " : "") + letter + std::to_string(i);
    text += ";\n";
  }
  return text;
}

std::string register_of(const std::string& type, int number) {
  const auto& row = *onepass::rewriter::ptx_type(type);
  const std::string letter = row.kind == 'p'   ? "p"
                             : row.kind == 'f' ? (row.bits == 64 ? "d" : "f")
                             : row.bits == 64  ? "l"
                             : row.bits == 32  ? "r"
                                               : "h";
  return letter + std::to_string(number);
}

/// ".v2|@type" as ".v2", ".b8", ".u8" and so on.
Parts choices_of(const std::string& element) {
  Parts result;
  for (const std::string& choice : split(element, '|')) {
    const bool is_list = choice[0] == '@';
    for (const std::string& part :
         is_list ? split(onepass::rewriter::ptx_parts(choice), '|') : Parts{choice}) {
      result.push_back(part);
    }
  }
  return result;
}

/// All names that a pattern has.
Parts names_of(const std::string& pattern) {
  Parts names = {""};
  for (std::string element : split(pattern, ' ')) {
    const bool may_be_absent = element.back() == '?';
    if (may_be_absent) element.pop_back();
    Parts longer = may_be_absent ? names : Parts();
    for (const std::string& choice : choices_of(element)) {
      for (const std::string& name : names) longer.push_back(name + choice);
    }
    names = longer;
  }
  return names;
}

/// `count` registers in braces, from `first` on.
std::string braces(const std::string& type, int first, int count) {
  std::string result;
  for (int i = 0; i < count; ++i) {
    result += (i > 0 ? ", " : "{") + register_of(type, first + i);
  }
  return result + "}";
}

/// The operands of a row for an instruction of that name, with or without a result where it may be
/// without; empty with more than 16 bytes at once.
std::string statement(const PtxInstruction& row, const std::string& name, bool has_result) {
  const std::string own_type = split(name, '.').back();
  const bool is_memory = name.substr(0, 3) == "ld." || name.substr(0, 3) == "st.";
  const int vector = name.find(".v2.") != name.npos ? 2 : name.find(".v4.") != name.npos ? 4 : 0;
  if (vector * 8 > 0 && vector * onepass::rewriter::ptx_type(own_type)->bits > 128) return "";
  std::string text;
  int next = 0;
  for (const std::string& wanted : *row.operands == '\0' ? Parts() : split(row.operands, ' ')) {
    const Parts parts = split(wanted, ':');
    const std::string type = parts.size() > 1 ? parts[1] : own_type;
    text += text.empty() ? " " : ", ";
    next += 4;
    if (wanted == "0") {
      text += "0";
    } else if (wanted == "d|e") {
      text += (has_result ? register_of("u32", next) : "_") + "|" + register_of("pred", next);
    } else if (wanted == "_" || (wanted == "d|_" && !has_result)) {
      text += "_";
    } else if (wanted[0] == '[') {
      text += "[l" + std::to_string(next) + "]";
    } else if (wanted[0] == '{') {
      text += braces(type == "b64" ? "b32" : "b16", next, 2);
    } else if (is_memory && vector > 0 && parts[0] == (name[0] == 'l' ? "d" : "a")) {
      text += braces(type, next, vector);
    } else if (type == "to31" || type == "to0") {
      text += type.substr(2);
    } else if (type == "constant") {
      text += "16";
    } else {
      text += register_of(type, next);
    }
  }
  return name + text + ";\n";
}

/// The table, written out.
std::string all_statements() {
  std::string text;
  for (const PtxInstruction& row : onepass::rewriter::kPtxInstructions) {
    const bool may_lack_result = std::string(row.operands).substr(0, 2) == "d|";
    for (const std::string& name : names_of(row.pattern)) {
      text += statement(row, name, true);
      if (may_lack_result) text += statement(row, name, false);
    }
  }
  return text;
}

}  // namespace

TEST_CASE("the simulator takes every instruction of its table") {
  const std::string text = declarations() + all_statements();
  CHECK(std::count(text.begin(), text.end(), '\n') > 10000);
  std::string cpp;
  CHECK_NOTHROW(cpp = onepass::rewriter::lower_ptx(text, {}));
  CHECK(cpp.find('$') == cpp.npos);
}

TEST_CASE("what it makes of them is C++ without a warning") {
  std::set<std::string> meanings;  // hints make no difference
  const std::string declared = onepass::rewriter::lower_ptx(declarations(), {});
  for (const std::string& line : split(all_statements(), '\n')) {
    const std::string cpp = onepass::rewriter::lower_ptx(declarations() + line, {});
    meanings.insert(cpp.substr(declared.size()));
  }
  const fs::path path = fs::path(ONEPASS_BINARY_DIR) / "table.cpp";
  std::ofstream file(path);
  file << "#include <onepass_simulator/ptx.h>\nvoid f() {\n" << declared << '\n';
  for (const std::string& meaning : meanings) file << meaning << '\n';
  file << "}\n";
  file.close();
  const auto result = onepass::process::run(
      {{ONEPASS_CXX_COMPILER, "-std=c++17", "-fsyntax-only", "-Wall", "-Wextra", "-Werror",
        "-isystem", ONEPASS_SOURCE_DIR "/grader/simulator/include", path.string()}},
      300);
  CAPTURE(result.output);
  CHECK(result.succeeded());
}

#ifdef ONEPASS_NVCC
TEST_CASE("ptxas takes every instruction of the table") {
  const fs::path ptx = fs::path(ONEPASS_BINARY_DIR) / "table.ptx";
  std::ofstream(ptx) << ".version 8.6\n.target sm_90\n.address_size 64\n.visible .entry k() {\n"
                     << declarations() << all_statements() << "ret;\n}\n";
  const fs::path cubin = fs::path(ONEPASS_BINARY_DIR) / "table.cubin";
  const auto result = onepass::process::run(
      {{ONEPASS_NVCC, "-arch=sm_90", "-cubin", "-o", cubin.string(), ptx.string()}}, 300);
  CAPTURE(result.output);
  CHECK(result.succeeded());
}
#endif
