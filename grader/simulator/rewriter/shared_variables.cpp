// __shared__ alignas(16) float tile[32];
//   becomes
// alignas(16) __shared__ float tile[32];
//
// because __shared__ is a word of the language here (thread_local), which such attributes have to
// stand before, and an attribute to nvcc. An initialiser, which nvcc refuses, gets a macro before
// it that does so too, and only where the code is really compiled.
#include "passes.h"

namespace onepass::rewriter {
namespace {

// The index after the attributes that stand at tokens[first].
std::size_t after_attributes(const Tokens& tokens, std::size_t first) {
  std::size_t i = first;
  while (i + 1 < tokens.size()) {
    const bool is_alignas = tokens[i].is("alignas") && tokens[i + 1].is("(");
    if (!is_alignas && !(tokens[i].is("[") && tokens[i + 1].is("["))) {
      break;
    }
    const std::size_t close = closing_bracket(tokens, is_alignas ? i + 1 : i);
    if (close == tokens.size()) {
      break;
    }
    i = close + 1;
  }
  return i;
}

// `struct { ... } name` and `struct Name { ... } name`.
bool opens_class(const Tokens& tokens, std::size_t brace) {
  const auto is_key = [&](std::size_t i) { return tokens[i].is_any({"struct", "class", "union"}); };
  return is_key(brace - 1) || is_key(brace - 2);
}

// A `=` that is no part of ==, <=, >= or !=, as template arguments have them.
bool assigns(const Tokens& tokens, std::size_t i) {
  const auto touches = [&](std::size_t left, std::initializer_list<std::string_view> marks) {
    return tokens[left].end() == tokens[left + 1].begin &&
           tokens[left == i ? i + 1 : left].is_any(marks);
  };
  return tokens[i].is("=") && !touches(i, {"="}) && !touches(i - 1, {"=", "<", ">", "!"});
}

// The `=` or `{` of an initialiser in the declaration that goes on at tokens[first], or
// tokens.size().
std::size_t initialiser(const Tokens& tokens, std::size_t first) {
  const int directive = tokens[first - 1].directive;
  for (std::size_t i = first; i + 1 < tokens.size() && !tokens[i].is(";"); ++i) {
    if (tokens[i].directive != directive) {
      if (directive != 0) {
        break;
      }
    } else if (assigns(tokens, i) || (tokens[i].is("{") && !opens_class(tokens, i))) {
      return i;
    } else if (tokens[i].closes_bracket()) {
      break;
    } else if (tokens[i].opens_bracket()) {
      const bool is_array = tokens[i].is("[");
      i = closing_bracket(tokens, i);
      if (is_array && i + 1 < tokens.size() && tokens[i + 1].kind == TokenKind::kIdentifier) {
        break;  // of the next statement: a `;` is missing
      }
    }
  }
  return tokens.size();
}

}  // namespace

void rewrite_shared_variables(const Tokens& tokens, std::vector<Edit>& edits) {
  for (std::size_t i = 1; i < tokens.size(); ++i) {
    const std::size_t shared = i - 1;
    if (!tokens[shared].is("__shared__") || (shared > 0 && tokens[shared - 1].is("extern"))) {
      continue;
    }
    const std::size_t end = after_attributes(tokens, i);
    if (end > i) {
      edits.push_back({tokens[shared].begin, tokens[shared].end(), ""});
      edits.push_back({tokens[end - 1].end(), tokens[end - 1].end(), " __shared__"});
    }
    const std::size_t first = initialiser(tokens, end);
    if (first < tokens.size()) {
      edits.push_back({tokens[first].begin, tokens[first].begin, " ONEPASS_SHARED_INITIALIZER "});
    }
  }
}

}  // namespace onepass::rewriter
