// __global__ void __launch_bounds__(256) kernel(float* x) { ... }
//   becomes
// __global__ void __launch_bounds__(256) kernel(float* x) { ONEPASS_LAUNCH_BOUNDS(256); ... }
//
// The bound may depend on the kernel's template arguments, so it is compared where they are known.
#include "passes.h"

namespace onepass::rewriter {
namespace {

// The `{` of the function whose declaration goes on at tokens[first]; tokens.size() if it has none.
std::size_t body(const Tokens& tokens, std::size_t first) {
  for (std::size_t i = first; i < tokens.size() && !tokens[i].is(";"); ++i) {
    if (tokens[i].directive != tokens[first - 1].directive || tokens[i].closes_bracket()) {
      break;
    }
    if (tokens[i].is("{")) {
      return i;
    }
    if (tokens[i].opens_bracket()) {
      i = closing_bracket(tokens, i);
    }
  }
  return tokens.size();
}

}  // namespace

void rewrite_launch_bounds(const Tokens& tokens, std::vector<Edit>& edits) {
  for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
    if (!tokens[i].is("__launch_bounds__") || !tokens[i + 1].is("(")) {
      continue;
    }
    const std::size_t close = closing_bracket(tokens, i + 1);
    const std::size_t open = close == tokens.size() ? close : body(tokens, close + 1);
    if (open == tokens.size()) {
      continue;
    }
    std::string most;
    for (std::size_t k = i + 2; k < close && !tokens[k].is(","); ++k) {
      if (tokens[k].opens_bracket()) {
        const std::size_t end = closing_bracket(tokens, k);
        for (; k < end; ++k) {
          most += std::string(tokens[k].text) + " ";
        }
      }
      most += std::string(tokens[k].text) + " ";
    }
    edits.push_back(
        {tokens[open].end(), tokens[open].end(), " ONEPASS_LAUNCH_BOUNDS(" + most + ");"});
  }
}

}  // namespace onepass::rewriter
