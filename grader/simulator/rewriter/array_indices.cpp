// Pack<T, 4> held[8]; ... held[p] = pack;
//   becomes
// held[::simulator::checked_index(held, p)] = pack;
//
// in device functions. g++ -fsanitize=bounds-strict lets the index one past the end go where the
// address is taken, and structures are copied by their address. What is no array of structures
// (a parameter of that name, an array of numbers) checked_index() leaves alone, so a name counts
// wherever it was declared.
#include <algorithm>
#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "passes.h"

namespace onepass::rewriter {
namespace {

// A name and its `[`, at i and i + 1; but not an attribute's.
bool has_index(const Tokens& tokens, std::size_t i) {
  return i + 2 < tokens.size() && is_name(tokens[i]) && tokens[i + 1].is("[") &&
         !tokens[i + 2].is_any({"[", "]"});
}

// Numbers are left to the compiler.
bool ends_type(const Token& token) {
  return token.is(">") || (is_name(token) && !token.is_any({"bool", "char", "short", "int", "long",
                                                            "unsigned", "float", "double"}));
}

// Where the dimensions open, the first at tokens[open], and last what comes behind them.
std::vector<std::size_t> dimensions(const Tokens& tokens, std::size_t open) {
  std::vector<std::size_t> brackets = {open};
  while (brackets.back() < tokens.size() && tokens[brackets.back()].is("[")) {
    brackets.push_back(closing_bracket(tokens, brackets.back()) + 1);
  }
  return brackets;
}

std::set<std::string_view> names_of_arrays(const Tokens& tokens) {
  std::set<std::string_view> names;
  std::size_t behind = 0;  // the last of them
  for (std::size_t i = 1; i < tokens.size(); ++i) {
    const bool is_next = tokens[i - 1].is(",") && i - 1 == behind;
    if (has_index(tokens, i) && (is_next || ends_type(tokens[i - 1]))) {
      names.insert(tokens[i].text);
      behind = dimensions(tokens, i + 1).back();
    }
  }
  return names;
}

// Is the array that starts at tokens[first], with the `]` of its index at tokens[last], surely an
// element in an expression, and one that is used by its address? Else it may be a declaration;
// &held[8], which is no access; or held[8].x, where the compiler sees to the index.
bool is_element(const Tokens& tokens, std::size_t first, std::size_t name, std::size_t last,
                bool within_parentheses) {
  const Token& before = tokens[first - 1];
  if (before.is("&") || before.is("::") || before.is("->")) {
    return false;
  }
  if (last + 3 < tokens.size() && tokens[last + 1].is(".") && !tokens[last + 3].is("(")) {
    return false;
  }
  if (first < name || (before.is(",") && within_parentheses) ||
      before.is_any({"return", "else", "do"})) {
    return true;
  }
  if (before.is_any({")", "}", ","})) {
    return last + 2 < tokens.size() && tokens[last + 1].is("=") && !tokens[last + 2].is("{");
  }
  return before.kind == TokenKind::kPunctuator && !before.is_any({">", "*", "]"});
}

// Calls, assignments, ++ and --: what must not be written twice.
bool has_effects(const Tokens& tokens, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) {
    if (tokens[i].is_any({"(", "="}) ||
        (tokens[i].is_any({"+", "-"}) && tokens[i + 1].text == tokens[i].text)) {
      return true;
    }
  }
  return false;
}

}  // namespace

void rewrite_array_indices(const Tokens& tokens, std::vector<Edit>& edits) {
  const std::set<std::string_view> names = names_of_arrays(tokens);
  std::vector<std::size_t> open;  // brackets
  std::size_t end = 0;            // of the device function
  for (std::size_t i = 1; i < tokens.size(); ++i) {
    if (tokens[i].directive != 0) {
      continue;
    }
    if (tokens[i].closes_bracket() && !open.empty()) {
      open.pop_back();
    } else if (tokens[i].opens_bracket()) {
      if (i >= end && tokens[i].is("{") && opens_device_function(tokens, i)) {
        end = closing_bracket(tokens, i);
      }
      open.push_back(i);
    }
    if (i >= end || !has_index(tokens, i) || names.count(tokens[i].text) == 0) {
      continue;
    }
    std::size_t first = i;  // of share.packs, where the name is packs
    while (first > 1 && tokens[first - 1].is(".") && is_name(tokens[first - 2])) {
      first -= 2;
    }
    const std::vector<std::size_t> brackets = dimensions(tokens, i + 1);
    const bool within_parentheses = !open.empty() && tokens[open.back()].is("(");
    if (brackets.back() > end || tokens[first - 1].is(".") ||
        !is_element(tokens, first, i, brackets.back() - 1, within_parentheses)) {
      continue;
    }
    for (std::size_t k = 0; k + 1 < brackets.size(); ++k) {
      if (has_effects(tokens, i + 1, brackets[k])) {
        break;
      }
      const std::size_t begin = tokens[brackets[k]].end();
      const std::size_t close = tokens[brackets[k + 1] - 1].begin;
      const std::string array = as_written(tokens, first, brackets[k]);
      edits.push_back({begin, begin, "::simulator::checked_index(" + array + ", "});
      edits.push_back({close, close, ")"});
    }
  }
}

}  // namespace onepass::rewriter
