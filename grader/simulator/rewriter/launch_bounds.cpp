// __global__ void __launch_bounds__(256, 2) kernel(float* x) { ... }
//   becomes
// __global__ void __launch_bounds__(256, 2) kernel(float* x) { ONEPASS_LAUNCH_BOUNDS(256, 2); ... }
//
// and __cluster_dims__(4, 1, 1) likewise. They may depend on the kernel's template arguments, so
// they are compared with the launch where those are known.
//
// Where a macro hides it, only the preprocessor knows what the macro stands for: another #if may
// have defined it otherwise. So each definition gets another one before it, of what the bounds in
// it say, and the kernel asks that one:
//
// #define KERNEL(n) __global__ void __launch_bounds__(n)
// KERNEL(256) kernel(float* x) { ... }
//   becomes
// #define ONEPASS_LAUNCH_BOUNDS_OF_KERNEL(n) ONEPASS_LAUNCH_BOUNDS(n)
// #define KERNEL(n) __global__ void __launch_bounds__(n)
// KERNEL(256) kernel(float* x) { ONEPASS_LAUNCH_BOUNDS_OF_KERNEL(256); ... }
//
// Bounds that an earlier declaration has alone hold for the definition, as nvcc has it. The two
// belong together if they have the same template parameters, name and types.
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "passes.h"

namespace onepass::rewriter {
namespace {

using Macros = std::set<std::string_view>;

bool same_directive(const Tokens& tokens, std::size_t i, std::size_t k) {
  return k < tokens.size() && tokens[i].directive == tokens[k].directive;
}

std::string joined(const Tokens& tokens, std::size_t first, std::size_t end) {
  std::string text;
  for (std::size_t i = first; i < end; ++i) {
    text += (i == first ? "" : " ") + std::string(tokens[i].text);
  }
  return text;
}

bool tells_bounds(const Token& token, const Macros& macros) {
  return token.is_any({"__launch_bounds__", "__cluster_dims__"}) || macros.count(token.text) > 0;
}

// The index after the arguments of the macro tokens[i], if it has any.
std::size_t after_arguments(const Tokens& tokens, std::size_t i) {
  if (!same_directive(tokens, i, i + 1) || !tokens[i + 1].is("(")) {
    return i + 1;
  }
  return std::min(closing_bracket(tokens, i + 1), tokens.size() - 1) + 1;
}

// ONEPASS_LAUNCH_BOUNDS(256) for the __launch_bounds__(256) at tokens[i]
std::string compared(const Tokens& tokens, std::size_t i) {
  const std::string macro = tokens[i].is("__launch_bounds__") ? "ONEPASS_LAUNCH_BOUNDS"
                            : tokens[i].is("__cluster_dims__")
                                ? "ONEPASS_CLUSTER_DIMS"
                                : "ONEPASS_LAUNCH_BOUNDS_OF_" + std::string(tokens[i].text);
  return macro + as_written(tokens, i + 1, after_arguments(tokens, i));
}

// What ends the declaration of which tokens[i] is a part: a `{`, `;` or `}`, or tokens.size(). It
// goes on behind the directives between, and behind the bracket of a macro that it is handed to.
std::size_t end_of_declaration(const Tokens& tokens, std::size_t i) {
  for (std::size_t k = after_arguments(tokens, i); k < tokens.size(); ++k) {
    if (tokens[k].directive != tokens[i].directive) {
      if (tokens[i].directive != 0) {
        break;
      }
    } else if (tokens[k].is_any({"{", ";", "}"})) {
      return k;
    } else if (tokens[k].opens_bracket()) {
      k = closing_bracket(tokens, k);
    }
  }
  return tokens.size();
}

// Where the bounds stand of which what follows the macro is the kernel.
std::vector<std::size_t> open_bounds(const Tokens& tokens, const Definition& definition,
                                     const Macros& macros) {
  const auto is_parameter = [&](const Token& token) {
    return std::any_of(tokens.begin() + definition.name + 1, tokens.begin() + definition.text,
                       [&](const Token& one) { return one.is(token.text); });
  };
  std::vector<std::size_t> result;
  for (std::size_t i = definition.text; i < definition.end; ++i) {
    if (tells_bounds(tokens[i], macros) && !is_parameter(tokens[i]) &&
        end_of_declaration(tokens, i) == tokens.size()) {
      result.push_back(i);
    }
  }
  return result;
}

// Those that hold __launch_bounds__ or __cluster_dims__, or another macro that does.
Macros macros_with_bounds(const Tokens& tokens, const std::vector<Definition>& definitions) {
  Macros macros;
  for (std::size_t before = 1; before != macros.size();) {
    before = macros.size();
    for (const Definition& one : definitions) {
      if (!open_bounds(tokens, one, macros).empty()) {
        macros.insert(tokens[one.name].text);
      }
    }
  }
  return macros;
}

// The lines before a definition, and a #line that takes them back.
std::string definition_of_bounds(const Tokens& tokens, const Definition& definition,
                                 const Macros& macros, std::ptrdiff_t line) {
  const Token& name = tokens[definition.name];
  const std::string bounds = "ONEPASS_LAUNCH_BOUNDS_OF_" + std::string(name.text);
  std::string text;
  for (const std::size_t i : open_bounds(tokens, definition, macros)) {
    text += (text.empty() ? "" : "; ") + compared(tokens, i);
  }
  return "#undef " + bounds + "\n#define " + bounds +
         on_one_line(as_written(tokens, definition.name + 1, definition.text) + " " + text) +
         "\n#line " + std::to_string(line) + "\n";
}

// A kernel as it is declared or defined.
struct Signature {
  std::string text;   // of its template parameters, its name and its types
  std::size_t begin;  // of the declaration
  std::size_t end;    // what it ends with: `;` or `{`
};

// Without the parameters' names: "float * , int" of `float* x, int n`.
std::string types_of(const Tokens& tokens, std::size_t open, std::size_t close) {
  std::string text;
  for (std::size_t i = open + 1; i < close; ++i) {
    const bool is_last = tokens[i + 1].is(",") || i + 1 == close;
    const bool is_first = i == open + 1 || tokens[i - 1].is(",");
    if (tokens[i].kind != TokenKind::kIdentifier || !is_last || is_first) {
      text += std::string(tokens[i].text) + " ";
    }
  }
  return text;
}

// Of the kernel whose name is tokens[name]; nothing if that is no kernel's.
std::optional<Signature> signature(const Tokens& tokens, std::size_t name) {
  if (tokens[name].kind != TokenKind::kIdentifier || !same_directive(tokens, name, name + 1) ||
      !tokens[name + 1].is("(") || tokens[name].directive != 0) {
    return std::nullopt;
  }
  const std::size_t close = closing_bracket(tokens, name + 1);
  if (close + 1 >= tokens.size() || !tokens[close + 1].is_any({"{", ";"})) {
    return std::nullopt;
  }
  std::size_t begin = name;
  while (begin > 0 && tokens[begin - 1].directive == 0 &&
         !tokens[begin - 1].is_any({";", "{", "}"})) {
    --begin;
  }
  for (std::size_t i = begin; i < name; ++i) {
    if (tokens[i].is("__global__")) {
      return Signature{joined(tokens, begin, i) + " " + std::string(tokens[name].text) + " " +
                           types_of(tokens, name + 1, close),
                       begin, close + 1};
    }
  }
  return std::nullopt;
}

// Puts the bounds of declarations into the definitions behind them that have none.
void hand_on_bounds(const Tokens& tokens, const Macros& macros, std::vector<Edit>& edits) {
  std::map<std::string, std::string> declared;  // bounds, by signature
  for (std::size_t name = 0; name < tokens.size(); ++name) {
    const std::optional<Signature> kernel = signature(tokens, name);
    if (!kernel) {
      continue;
    }
    std::string bounds;
    for (std::size_t i = kernel->begin; i < name; ++i) {
      if (tells_bounds(tokens[i], macros)) {
        bounds += " " + compared(tokens, i) + ";";
      }
    }
    const Token& end = tokens[kernel->end];
    if (end.is(";") && !bounds.empty()) {
      declared[kernel->text] = bounds;
    }
    const auto found = declared.find(kernel->text);
    if (end.is("{") && found != declared.end()) {
      if (bounds.empty()) {
        edits.push_back({end.end(), end.end(), found->second});
      }
      declared.erase(found);  // one of the same name, in another namespace, is another kernel
    }
  }
}

}  // namespace

void rewrite_launch_bounds(std::string_view source, const Tokens& tokens,
                           std::vector<Edit>& edits) {
  const std::vector<Definition> all = definitions(source, tokens);
  const Macros macros = macros_with_bounds(tokens, all);
  for (const Definition& one : all) {
    if (macros.count(tokens[one.name].text) > 0) {
      const Token& name = tokens[one.name];
      const std::size_t hash = hash_before(source, name);
      const std::string_view between = source.substr(hash, name.begin - hash);
      const std::ptrdiff_t line =
          name.line.number - std::count(between.begin(), between.end(), '\n');
      edits.push_back({hash, hash, definition_of_bounds(tokens, one, macros, line), true});
    }
  }
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::size_t end =
        tells_bounds(tokens[i], macros) ? end_of_declaration(tokens, i) : tokens.size();
    if (end != tokens.size() && tokens[end].is("{")) {
      edits.push_back({tokens[end].end(), tokens[end].end(), " " + compared(tokens, i) + ";"});
    }
  }
  hand_on_bounds(tokens, macros, edits);
}

}  // namespace onepass::rewriter
