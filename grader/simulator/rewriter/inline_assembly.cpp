// asm volatile("mov ..." : ...);
//   becomes
// ONEPASS_INLINE_PTX ("mov ..." : ...);
//
// A host compiler cannot run PTX. The macro stops the compile with a sentence, and only where the
// code is really compiled: behind `#ifdef __CUDA_ARCH__` it does no harm.
#include "passes.h"

namespace onepass::rewriter {

void rewrite_inline_assembly(const Tokens& tokens, std::vector<Edit>& edits) {
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (!tokens[i].is("asm") && !tokens[i].is("__asm__") && !tokens[i].is("__asm")) {
      continue;
    }
    std::size_t open = i + 1;
    while (open < tokens.size() &&
           (tokens[open].is("volatile") || tokens[open].is("__volatile__"))) {
      ++open;
    }
    if (open == tokens.size() || !tokens[open].is("(")) {
      continue;
    }
    edits.push_back({tokens[i].begin, tokens[i].end(), "ONEPASS_INLINE_PTX"});
    for (std::size_t k = i + 1; k < open; ++k) {
      edits.push_back({tokens[k].begin, tokens[k].end(), ""});
    }
  }
}

}  // namespace onepass::rewriter
