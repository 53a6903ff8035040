// Turns a .cu file into plain C++ that the simulator's headers give meaning to, without moving a
// line:
//
//     kernel<T><<<grid, block>>>(x, n)          ONEPASS_LAUNCH(kernel<T>)(grid, block)(x, n)
//     extern __shared__ float s[];              a pointer to the block's dynamic shared memory
//     asm volatile("...");                      calls that do the same, or a stop with a sentence
//
// Everything else of CUDA's language is ordinary C++ once the headers have declared the names.
#pragma once

#include <string>
#include <string_view>

#include "tokens.h"

namespace onepass::rewriter {

/// The rewritten text of `source`. It starts with the #include that nvcc implies and a #line that
/// names `shown_path`, so that the compiler's messages and the debug information point into the
/// student's own file. Throws RewriteError for a malformed launch. Headers of given_folder come
/// into the text as passes.h says; "" for none.
std::string rewrite(std::string_view source, std::string_view shown_path,
                    const std::string& given_folder = "");

}  // namespace onepass::rewriter
