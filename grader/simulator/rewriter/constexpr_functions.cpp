// constexpr int half(int n) { return n / 2; }
//   becomes
// constexpr int half(int n) { ONEPASS_CONSTEXPR_OF_HOST return n / 2; }
//
// where it is not __device__. Of a call with constants the compiler would keep the result alone,
// and not even tell that there was a call; nvcc refuses it in a kernel. What the macro asks holds
// the compiler back where the language does not want a constant, and says nothing.
#include "passes.h"

namespace onepass::rewriter {
namespace {

// The brace of the function's body, if the declaration that goes on at tokens[first] is one of a
// function that has a body, or tokens.size().
std::size_t body_of_function(const Tokens& tokens, std::size_t first) {
  bool has_parameters = false;
  for (std::size_t i = first; i < tokens.size() && tokens[i].directive == 0; ++i) {
    if (tokens[i].is_any({";", "=", "}", ")"})) {
      break;
    }
    if (tokens[i].is("{")) {
      const bool is_body = tokens[i - 1].is_any({")", "const", "noexcept", "override", "final"});
      return has_parameters && is_body ? i : tokens.size();
    }
    if (tokens[i].opens_bracket()) {
      has_parameters |= tokens[i].is("(");
      i = closing_bracket(tokens, i);
    }
  }
  return tokens.size();
}

}  // namespace

void rewrite_constexpr_functions(const Tokens& tokens, std::vector<Edit>& edits) {
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (!tokens[i].is("constexpr") || tokens[i].directive != 0 ||
        (i > 0 && tokens[i - 1].is("if"))) {
      continue;
    }
    const std::size_t brace = body_of_function(tokens, i + 1);
    if (brace < tokens.size() && !opens_device_function(tokens, brace)) {
      edits.push_back({tokens[brace].end(), tokens[brace].end(), " ONEPASS_CONSTEXPR_OF_HOST "});
    }
  }
}

}  // namespace onepass::rewriter
