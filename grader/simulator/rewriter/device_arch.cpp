// #if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900     within a kernel or a __device__ function
//   becomes
// #if defined(ONEPASS_DEVICE_ARCH) && ONEPASS_DEVICE_ARCH >= 900
//
// which is a GPU's number: nvcc compiles what stands there for the device alone. The rest it
// compiles twice, g++ once and for the host, so there __CUDA_ARCH__ stays undefined: of a function
// that is __host__ __device__ the host's version does for both.
#include <set>

#include "passes.h"

namespace onepass::rewriter {
namespace {

/// __device__, say, and the macros that stand for it.
using Words = std::set<std::string_view>;

/// What ends the declaration that goes on behind tokens[word]: the `{` of a function's body, or
/// `;`, or a bracket that closes what it stands in; or tokens.size().
std::size_t end_of_head(const Tokens& tokens, std::size_t word) {
  bool in_initializers = false;  // of a constructor
  for (std::size_t i = word + 1; i < tokens.size(); ++i) {
    if (tokens[i].directive != tokens[word].directive) {
      if (tokens[word].directive != 0) {
        break;
      }
    } else if (tokens[i].is(";") || tokens[i].closes_bracket()) {
      return i;
    } else if (tokens[i].is("{") &&
               !(in_initializers && (is_name(tokens[i - 1]) || tokens[i - 1].is(">")))) {
      return i;
    } else if (tokens[i].opens_bracket()) {
      i = closing_bracket(tokens, i);
    } else {
      in_initializers |= tokens[i].is(":");
    }
  }
  return tokens.size();
}

/// Adds the macros that leave the function itself to what follows them. (One that has all of a
/// function says nothing about the next.)
Words with_macros(Words words, const Tokens& tokens, const std::vector<Definition>& definitions) {
  for (std::size_t before = 0; before != words.size();) {
    before = words.size();
    for (const Definition& one : definitions) {
      for (std::size_t i = one.text; i < one.end; ++i) {
        if (words.count(tokens[i].text) > 0 && end_of_head(tokens, i) == tokens.size()) {
          words.insert(tokens[one.name].text);
        }
      }
    }
  }
  return words;
}

/// Is one of the words in the declaration around tokens[place] that ends at tokens[end]?
bool says(const Words& words, const Tokens& tokens, std::size_t place, std::size_t end) {
  const int directive = tokens[place].directive;
  std::size_t begin = place;
  while (begin > 0 &&
         (tokens[begin - 1].directive != directive || !tokens[begin - 1].is_any({";", "{", "}"}))) {
    --begin;
  }
  for (std::size_t i = begin; i < end; ++i) {
    if (tokens[i].directive == directive && words.count(tokens[i].text) > 0) {
      return true;
    }
  }
  return false;
}

}  // namespace

void rewrite_device_arch(std::string_view source, const Tokens& tokens, std::vector<Edit>& edits) {
  const std::vector<Definition> macros = definitions(source, tokens);
  const Words device = with_macros({"__global__", "__device__"}, tokens, macros);
  const Words host = with_macros({"__host__"}, tokens, macros);
  std::set<std::size_t> places;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (device.count(tokens[i].text) == 0) {
      continue;
    }
    const std::size_t open = end_of_head(tokens, i);
    if (open == tokens.size() || !tokens[open].is("{") || says(host, tokens, i, open)) {
      continue;
    }
    const std::size_t close = closing_bracket(tokens, open);
    for (std::size_t k = open; k < close; ++k) {
      if (tokens[k].is("__CUDA_ARCH__")) {
        places.insert(k);
      }
    }
  }
  for (const std::size_t i : places) {
    edits.push_back({tokens[i].begin, tokens[i].end(), "ONEPASS_DEVICE_ARCH"});
  }
}

}  // namespace onepass::rewriter
