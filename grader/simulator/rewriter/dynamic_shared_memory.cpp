// extern __shared__ __align__(16) float tile[];
//   becomes
// [[maybe_unused]] float *const tile = ONEPASS_DYNAMIC_SHARED;
//
// The block's dynamic shared memory has its place at run time only, so the name becomes a pointer
// to it. A declaration outside of functions moves into the body of every device function that uses
// the name, because each block may have another place.
#include <algorithm>
#include <optional>

#include "passes.h"

namespace onepass::rewriter {
namespace {

struct Declaration {
  std::size_t first;  // `extern`
  std::size_t semicolon;
  std::string name;
  std::string pointer;  // what to write in its place, without the semicolon
};

// `alignas(16)`, `__align__(16)` and `__attribute__((aligned(16)))` speak of the memory, not of the
// pointer. The memory is aligned well enough for all of them.
bool is_alignment(const Token& token) {
  return token.is_any({"alignas", "__align__", "__attribute__"});
}

// The declaration that starts with the `extern` at tokens[first], if it is one of shared memory.
std::optional<Declaration> read_declaration(const Tokens& tokens, std::size_t first) {
  Declaration result{first, first, "", ""};
  bool is_shared = false;
  std::string type;
  std::string dimensions;
  for (std::size_t i = first + 1; i < tokens.size(); ++i) {
    const Token& token = tokens[i];
    if (token.directive != tokens[first].directive || token.is_any({"{", "}", "="}) ||
        token.kind == TokenKind::kString || token.kind == TokenKind::kCharacter) {
      return std::nullopt;
    }
    if (token.is(";")) {
      result.semicolon = i;
      break;
    }
    if (token.is("__shared__")) {
      is_shared = true;
    } else if (is_alignment(token) && i + 1 < tokens.size() && tokens[i + 1].is("(")) {
      i = closing_bracket(tokens, i + 1);
    } else if (result.name.empty() && i + 2 < tokens.size() && tokens[i + 1].is("[") &&
               tokens[i + 2].is("]")) {
      result.name = token.text;
      i += 2;
    } else if (result.name.empty()) {
      type += std::string(token.text) + " ";
    } else {
      dimensions += token.text;
    }
  }
  if (!is_shared || result.semicolon == first) {
    return std::nullopt;
  }
  if (result.name.empty() || dimensions.find(',') != std::string::npos) {
    throw RewriteError(tokens[first].line,
                       "dynamic shared memory is declared one name at a time and without a size: "
                       "extern __shared__ float name[];");
  }
  const std::string pointer = "*const " + result.name;
  result.pointer = "[[maybe_unused]] " + type +
                   (dimensions.empty() ? pointer : "(" + pointer + ")" + dimensions) +
                   " = ONEPASS_DYNAMIC_SHARED";
  return result;
}

// `namespace a::b {` and `extern "C" {` do not open a block.
bool opens_namespace(const Tokens& tokens, std::size_t brace) {
  std::size_t i = brace;
  while (i > 0 && (tokens[i - 1].is("::") || (tokens[i - 1].kind == TokenKind::kIdentifier &&
                                              !tokens[i - 1].is("namespace")))) {
    --i;
  }
  return (i > 0 && tokens[i - 1].is("namespace")) ||
         (i > 1 && tokens[i - 1].kind == TokenKind::kString && tokens[i - 2].is("extern"));
}

bool mentions(const Tokens& tokens, std::size_t begin, std::size_t end, const std::string& name) {
  return std::any_of(tokens.begin() + begin, tokens.begin() + end,
                     [&](const Token& token) { return token.is(name); });
}

void declare_in_functions(const Tokens& tokens, const Declaration& declaration,
                          std::vector<Edit>& edits) {
  for (std::size_t i = declaration.semicolon; i < tokens.size(); ++i) {
    if (!tokens[i].is("{") || !opens_device_function(tokens, i)) {
      continue;
    }
    const std::size_t end = closing_bracket(tokens, i);
    if (mentions(tokens, i, end, declaration.name)) {
      edits.push_back({tokens[i].end(), tokens[i].end(), " " + declaration.pointer + ";"});
    }
    i = end;
  }
}

}  // namespace

void rewrite_dynamic_shared_memory(const Tokens& tokens, std::vector<Edit>& edits) {
  std::vector<bool> scopes;  // of the open braces: is it a namespace's?
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].is("{")) {
      scopes.push_back(opens_namespace(tokens, i));
    } else if (tokens[i].is("}") && !scopes.empty()) {
      scopes.pop_back();
    } else if (tokens[i].is("extern")) {
      const std::optional<Declaration> declaration = read_declaration(tokens, i);
      if (!declaration) {
        continue;
      }
      const bool in_block = tokens[i].directive != 0 ||
                            std::find(scopes.begin(), scopes.end(), false) != scopes.end();
      // Token by token, so that a declaration over several lines keeps them.
      edits.push_back({tokens[i].begin, tokens[i].end(), in_block ? declaration->pointer : ""});
      for (std::size_t k = i + 1; k < declaration->semicolon; ++k) {
        edits.push_back({tokens[k].begin, tokens[k].end(), ""});
      }
      if (!in_block) {
        const Token& semicolon = tokens[declaration->semicolon];
        edits.push_back({semicolon.begin, semicolon.end(), ""});
        declare_in_functions(tokens, *declaration, edits);
      }
      i = declaration->semicolon;
    }
  }
}

}  // namespace onepass::rewriter
