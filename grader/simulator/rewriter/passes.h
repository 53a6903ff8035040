// The rewriter's passes. Each looks through the tokens for one construct and says what to replace.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "tokens.h"

namespace onepass::rewriter {

/// Replaces source[begin, end) by text. Newlines are seen to: text gets as many as what it replaces
/// has, unless it has lines of its own and ends in a #line.
struct Edit {
  std::size_t begin;
  std::size_t end;
  std::string text;
  bool has_own_lines = false;
};

using Tokens = std::vector<Token>;

/// Puts headers with device code in the place of `#include <onepass/fast.h>`, those that
/// given_folder has (given_headers.cpp). So every pass sees one text.
std::string with_given_headers(std::string_view source, std::string_view shown_path,
                               const std::string& given_folder);

/// #line 12 "file"
std::string line_directive(int number, std::string_view file);

/// kernel<<<grid, block>>>(arguments)
void rewrite_launches(const Tokens& tokens, std::vector<Edit>& edits);

/// extern __shared__ T name[];
void rewrite_dynamic_shared_memory(const Tokens& tokens, std::vector<Edit>& edits);

/// cudaLaunchKernel((void*)kernel, ...)
void rewrite_kernel_pointers(const Tokens& tokens, std::vector<Edit>& edits);

/// __shared__ alignas(16) float tile[32];
void rewrite_shared_variables(const Tokens& tokens, std::vector<Edit>& edits);

/// __launch_bounds__(256), __cluster_dims__(4, 1, 1)
void rewrite_launch_bounds(std::string_view source, const Tokens& tokens, std::vector<Edit>& edits);

/// asm("..."). True if one became calls, of what stands in onepass_simulator/ptx.h.
bool rewrite_inline_assembly(const Tokens& tokens, std::vector<Edit>& edits);

/// held[p], where held is an array of structures
void rewrite_array_indices(const Tokens& tokens, std::vector<Edit>& edits);

/// constexpr int half(int n) { ... }, of the host
void rewrite_constexpr_functions(const Tokens& tokens, std::vector<Edit>& edits);

/// #if __CUDA_ARCH__ >= 900, in device functions
void rewrite_device_arch(std::string_view source, const Tokens& tokens, std::vector<Edit>& edits);

/// The text with a space for each newline, continued line or not.
std::string on_one_line(std::string_view text);

/// A name, and none of the words that may stand before one without being a part of it.
bool is_name(const Token& token);

/// The body that starts at this brace belongs to a kernel or a device function.
bool opens_device_function(const Tokens& tokens, std::size_t brace);

/// The tokens of a #define: NAME, its parameters, and what it stands for.
struct Definition {
  std::size_t name;
  std::size_t text;  // the first token of what it stands for
  std::size_t end;
};

std::vector<Definition> definitions(std::string_view source, const Tokens& tokens);

/// The `#` of the directive that the token is a part of.
std::size_t hash_before(std::string_view source, const Token& token);

/// The index of the bracket that closes tokens[open], or tokens.size(). Tokens of other directives
/// than the opening one's are passed over.
std::size_t closing_bracket(const Tokens& tokens, std::size_t open);

}  // namespace onepass::rewriter
