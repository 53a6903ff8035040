// #if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900     within a kernel or a __device__ function
//   becomes
// #if defined(ONEPASS_DEVICE_ARCH) && ONEPASS_DEVICE_ARCH >= 900
//
// which is a GPU's number: nvcc compiles what stands there for the device alone. The rest it
// compiles twice, g++ once and for the host, so there __CUDA_ARCH__ stays undefined: of a function
// that is __host__ __device__ the host's version does for both.
//
// Around functions, too, a condition has one answer for the device and one for the host:
//
// #if __CUDA_ARCH__ >= 900                               a function that some GPUs have
//   becomes
// #if (ONEPASS_DEVICE_ARCH >= 900) || (__CUDA_ARCH__ >= 900)
//
// that is, what either of them has. Where there is an #else, it is the device's answer.
#include <algorithm>
#include <set>
#include <vector>

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

/// Is it the `{` of a namespace or a class, and not that of a function?
bool opens_scope(const Tokens& tokens, std::size_t open) {
  std::size_t begin = open;
  while (begin > 0 && tokens[begin - 1].directive == 0 &&
         !tokens[begin - 1].is_any({";", "{", "}"})) {
    --begin;
  }
  bool is_scope = false;
  for (std::size_t i = begin; i < open; ++i) {
    is_scope |= tokens[i].is_any({"namespace", "struct", "class", "union", "extern"});
  }
  const Token& last = tokens[open - (open > begin ? 1 : 0)];
  return is_scope && !last.is_any({")", "const", "noexcept", "override", "="});
}

/// The tokens of a directive around functions, those behind its name.
struct Condition {
  std::size_t begin, end;
  std::string_view name;  // if, ifdef, ...
  bool has_else;          // or #elif
};

std::vector<Condition> conditions_around_functions(std::string_view source, const Tokens& tokens) {
  std::vector<Condition> all;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].directive == 0) {
      if (tokens[i].is("{") && !opens_scope(tokens, i)) {
        i = closing_bracket(tokens, i);
      }
      continue;
    }
    Condition one = {i, i + 1, {}, false};
    while (one.end < tokens.size() && tokens[one.end].directive == tokens[i].directive) {
      ++one.end;
    }
    const std::size_t hash = hash_before(source, tokens[i]);
    const std::size_t name = source.find_first_not_of(" \t", hash + 1);
    one.name =
        source.substr(name, source.find_first_not_of("abcdefghijklmnopqrstuvwxyz", name) - name);
    if (one.name != "define") {
      const std::size_t end = end_of_group(source, tokens[i].begin);
      const std::size_t next = std::min(source.find_first_not_of("# \t", end), source.size());
      one.has_else = one.name == "elif" || source.substr(next, 2) == "el";
      all.push_back(one);
    }
    i = one.end - 1;
  }
  return all;
}

/// The condition's tokens in one line, with the number of a GPU.
std::string for_device(const Tokens& tokens, const Condition& condition) {
  std::string text;
  for (std::size_t i = condition.begin; i < condition.end; ++i) {
    const bool is_apart = i + 1 == condition.end || tokens[i].end() != tokens[i + 1].begin;
    text += tokens[i].is("__CUDA_ARCH__") ? "ONEPASS_DEVICE_ARCH" : tokens[i].text;
    text += is_apart && i + 1 < condition.end ? " " : "";
  }
  return text;
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
  for (const Condition& condition : conditions_around_functions(source, tokens)) {
    std::set<std::size_t> asked;
    for (std::size_t k = condition.begin; k < condition.end; ++k) {
      if (tokens[k].is("__CUDA_ARCH__") && places.count(k) == 0) {
        asked.insert(k);
      }
    }
    if (condition.has_else || condition.name == "ifdef") {
      places.insert(asked.begin(), asked.end());
    } else if (!asked.empty() && condition.name == "if") {
      const Token& last = tokens[condition.end - 1];
      const std::string either = "(" + for_device(tokens, condition) + ") || (";
      edits.push_back({tokens[condition.begin].begin, tokens[condition.begin].begin, either});
      edits.push_back({last.end(), last.end(), ")"});
    }
  }
  for (const std::size_t i : places) {
    edits.push_back({tokens[i].begin, tokens[i].end(), "ONEPASS_DEVICE_ARCH"});
  }
}

}  // namespace onepass::rewriter
