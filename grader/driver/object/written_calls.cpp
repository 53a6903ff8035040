#include "driver/object/written_calls.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "driver/text.h"

namespace onepass::driver {
namespace {

constexpr std::string_view kFunction = ";; Function ",
                           kOrder = "symbol_order=", kAligned = "aligned (";

unsigned number_at(const std::string& text, std::size_t at) {
  return static_cast<unsigned>(std::strtoul(text.c_str() + at, nullptr, 10));
}

/// Takes its name from "onepass::scaled<float>": "scaled".
void read_name(const std::string& written, WrittenFunction& function) {
  const std::size_t own = written.find("operator");  // may have < and > in its name
  int depth = 0;
  for (std::size_t i = 0; i < written.size(); ++i) {
    const bool is_bracket = i < own && (written[i] == '<' || written[i] == '>');
    function.is_lambda |= depth == 0 && written.compare(i, 7, "<lambda") == 0;
    if (is_bracket) {
      depth += written[i] == '<' ? 1 : -1;
    } else if (depth == 0) {
      function.name += written[i];
    }
  }
  if (function.is_lambda) {  // the function that it stands in
    function.name.resize(std::min(function.name.size(), function.name.find('(')));
  }
  for (const std::string scope : {"onepass::", "{anonymous}::"}) {
    if (function.name.rfind(scope, 0) == 0) function.name.erase(0, scope.size());
  }
}

/// A line as the dump writes it before what stands there: [block_sum.cu:35:12]
struct SourceLine {
  std::string file;
  unsigned line = 0;
};

SourceLine line_before(const std::string& text, std::size_t at) {
  const std::size_t close = text.rfind("] ", at);
  const std::size_t open = close == std::string::npos ? close : text.rfind('[', close);
  if (open == std::string::npos) return {};
  const std::size_t column = text.rfind(':', close);
  const std::size_t line = column == 0 ? 0 : text.rfind(':', column - 1);
  if (line == std::string::npos || line < open) return {};
  return {text.substr(open + 1, line - open - 1), number_at(text, line + 1)};
}

/// Where a function calls this one: by its symbol, or where that has none outside of the file, by
/// its name.
SourceLine line_of_call(const std::string& body, const std::string& symbol,
                        const std::string& name) {
  const std::size_t scope = name.rfind("::");
  for (const std::string& word :
       {symbol, scope == std::string::npos ? name : name.substr(scope + 2)}) {
    const std::size_t found = body.find(" " + word + " (");
    if (found != std::string::npos) return line_before(body, found);
  }
  return {};
}

/// From `;; Function start (_Z5starti, funcdef_no=0, ..., symbol_order=0)`, and what follows.
/// Returns the functions' bodies.
std::map<unsigned, std::string> read_functions(const std::string& dump,
                                               WrittenFunctions& functions) {
  std::map<unsigned, std::string> bodies;
  std::string* body = nullptr;
  for (const std::string& line : lines_of(dump)) {
    if (line.rfind(kFunction, 0) != 0) {
      if (body != nullptr) *body += line + '\n';
      continue;
    }
    const std::size_t end = line.find(", funcdef_no=");
    const std::size_t order = line.find(kOrder);
    body = nullptr;
    if (end != std::string::npos && order != std::string::npos) {
      const unsigned number = number_at(line, order + kOrder.size());
      read_name(line.substr(kFunction.size(), line.rfind(" (", end) - kFunction.size()),
                functions[number]);
      body = &bodies[number];
    }
  }
  for (auto& [number, text] : bodies) {
    const std::size_t begin = std::min(text.find('{'), text.size());
    const std::size_t aligned = text.find(kAligned);
    if (aligned < begin) {
      functions[number].alignment = number_at(text, aligned + kAligned.size());
    }
    text.erase(0, begin);
    const std::size_t first = text.find("] ");
    if (first != std::string::npos) functions[number].file = line_before(text, first).file;
  }
  return bodies;
}

/// "_Z5starti/0 _ZL5locali/2460 (can throw external) ": symbols with their numbers.
std::vector<std::pair<std::string, unsigned>> symbols_in(const std::string& line) {
  std::vector<std::pair<std::string, unsigned>> symbols;
  for (std::size_t at = line.find('/'); at != std::string::npos; at = line.find('/', at + 1)) {
    const std::size_t begin = line.rfind(' ', at) + 1;
    symbols.emplace_back(line.substr(begin, at - begin), number_at(line, at + 1));
  }
  return symbols;
}

}  // namespace

std::vector<std::string> options_for_written_calls(const std::string& functions,
                                                   const std::string& symbols) {
  return {"-fdump-tree-lower-lineno-asmname=" + functions, "-fdump-ipa-visibility=" + symbols};
}

WrittenFunctions read_written_calls(const std::string& functions, const std::string& symbols) {
  WrittenFunctions result;
  const std::map<unsigned, std::string> bodies = read_functions(functions, result);
  std::map<unsigned, unsigned> alias_of;  // a constructor has several symbols
  std::map<unsigned, std::map<unsigned, std::string>> calls;
  unsigned number = 0;
  for (const std::string& line : lines_of(symbols)) {
    const auto found = result.find(number);
    if (line.find(" @0x") != std::string::npos && line[0] != ' ') {
      const auto own = symbols_in(line.substr(0, line.find(' ')));
      number = own.empty() ? 0 : own.front().second;
    } else if (line.rfind("  Visibility:", 0) == 0 && found != result.end()) {
      found->second.is_generated = line.find(" artificial") != std::string::npos;
    } else if (line.rfind("  References:", 0) == 0 && line.find("(alias)") != std::string::npos) {
      alias_of[number] = symbols_in(line).at(0).second;
    } else if (line.rfind("  Calls:", 0) == 0) {
      for (const auto& [symbol, callee] : symbols_in(line)) calls[number][callee] = symbol;
    }
  }
  for (const auto& [caller, body] : bodies) {
    for (const auto& [callee, symbol] : calls[caller]) {
      const auto alias = alias_of.find(callee);
      const auto found = result.find(alias == alias_of.end() ? callee : alias->second);
      if (found == result.end()) continue;
      const SourceLine where = line_of_call(body, symbol, found->second.name);
      result[caller].calls.push_back({&found->second, where.file, where.line});
    }
  }
  return result;
}

}  // namespace onepass::driver
