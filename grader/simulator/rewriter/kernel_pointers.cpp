// cudaLaunchKernel((void*)kernel<T>, grid, block, arguments)
//   becomes
// cudaLaunchKernel(kernel<T>, grid, block, arguments)
//
// The simulator needs the types of the kernel's parameters, which are gone from a void*.
#include "passes.h"

namespace onepass::rewriter {
namespace {

// The index after `void *`, with a `const` on either side, at tokens[first]; first if there is
// none.
std::size_t after_void_pointer(const Tokens& tokens, std::size_t first) {
  std::size_t i = first;
  bool has_void = false;
  for (; i + 1 < tokens.size() && tokens[i].is_any({"const", "void"}); ++i) {
    has_void = has_void || tokens[i].is("void");
  }
  return has_void && tokens[i].is("*") ? i + 1 : first;
}

// The index after a cast to void* at tokens[first], or first.
std::size_t after_cast(const Tokens& tokens, std::size_t first) {
  const bool is_named = tokens[first].is_any({"reinterpret_cast", "static_cast"});
  const std::size_t type = first + (is_named ? 2 : 1);
  if (type >= tokens.size() || !tokens[type - 1].is(is_named ? "<" : "(")) {
    return first;
  }
  const std::size_t end = after_void_pointer(tokens, type);
  return end > type && end < tokens.size() && tokens[end].is(is_named ? ">" : ")") ? end + 1
                                                                                   : first;
}

}  // namespace

void rewrite_kernel_pointers(const Tokens& tokens, std::vector<Edit>& edits) {
  for (std::size_t i = 0; i + 2 < tokens.size(); ++i) {
    if (!tokens[i].is_any(
            {"cudaLaunchKernel", "cudaLaunchCooperativeKernel", "cudaLaunchKernelExC"}) ||
        !tokens[i + 1].is("(")) {
      continue;
    }
    std::size_t kernel = i + 2;
    if (tokens[i].is("cudaLaunchKernelExC")) {  // it comes second
      while (kernel + 1 < tokens.size() && !tokens[kernel - 1].is_any({",", ";"})) {
        kernel = tokens[kernel].opens_bracket() ? closing_bracket(tokens, kernel) : kernel + 1;
      }
    }
    for (std::size_t k = kernel, end = kernel < tokens.size() ? after_cast(tokens, kernel) : kernel;
         k < end; ++k) {
      edits.push_back({tokens[k].begin, tokens[k].end(), ""});
    }
  }
}

}  // namespace onepass::rewriter
