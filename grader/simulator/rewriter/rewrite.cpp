#include "rewrite.h"

#include <algorithm>

#include "passes.h"

namespace onepass::rewriter {
namespace {

std::ptrdiff_t newlines(std::string_view text) {
  return std::count(text.begin(), text.end(), '\n');
}

// An edit's text with as many newlines as what it replaces: no line of the student's may move.
std::string fitted(std::string_view replaced, std::string text) {
  if (newlines(text) > newlines(replaced)) {
    text = on_one_line(text);
  }
  for (std::ptrdiff_t left = newlines(replaced) - newlines(text); left > 0; --left) {
    const std::size_t end = replaced.rfind('\n');
    text += end > 0 && replaced[end - 1] == '\\' ? "\\\n" : "\n";  // a directive goes on
    replaced = replaced.substr(0, end);
  }
  return text;
}

std::string apply(std::string_view source, std::vector<Edit> edits) {
  std::stable_sort(edits.begin(), edits.end(),
                   [](const Edit& a, const Edit& b) { return a.begin < b.begin; });
  std::string result;
  std::size_t position = 0;
  for (const Edit& edit : edits) {
    if (edit.begin < position) {
      continue;  // of two edits of one text the first holds: it is no C++, as the compiler will say
    }
    result += source.substr(position, edit.begin - position);
    result += edit.has_own_lines
                  ? edit.text
                  : fitted(source.substr(edit.begin, edit.end - edit.begin), edit.text);
    position = edit.end;
  }
  result += source.substr(position);
  return result;
}

}  // namespace

std::string line_directive(int number, std::string_view file) {
  std::string result = "#line " + std::to_string(number) + " \"";
  for (const char c : file) {
    if (c == '"' || c == '\\') {
      result += '\\';
    }
    result += c;
  }
  return result + "\"";
}

std::string on_one_line(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool continues = text[i] == '\\' && text.substr(i + 1, 1) == "\n";
    result += continues || text[i] == '\n' ? ' ' : text[i];
    i += continues;
  }
  return result;
}

bool is_name(const Token& token) {
  return token.kind == TokenKind::kIdentifier &&
         !token.is_any({"return", "else", "do", "case", "throw", "if", "for", "while", "switch",
                        "sizeof", "new", "goto", "operator", "delete", "co_return"});
}

bool opens_device_function(const Tokens& tokens, std::size_t brace) {
  if (brace == 0 || tokens[brace - 1].is("=")) {
    return false;
  }
  for (std::size_t i = brace; i > 0 && !tokens[i - 1].is_any({";", "{", "}"}); --i) {
    if (tokens[i - 1].is_any({"__global__", "__device__"})) {
      return true;
    }
  }
  return false;
}

std::size_t closing_bracket(const Tokens& tokens, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < tokens.size(); ++i) {
    if (tokens[i].directive != tokens[open].directive) {
      continue;
    }
    depth += tokens[i].opens_bracket();
    depth -= tokens[i].closes_bracket();
    if (depth == 0) {
      return i;
    }
  }
  return tokens.size();
}

std::size_t hash_before(std::string_view source, const Token& token) {
  return source.rfind('#', token.begin);
}

std::vector<Definition> definitions(std::string_view source, const Tokens& tokens) {
  std::vector<Definition> result;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const int directive = tokens[i].directive;
    if (directive == 0) {
      continue;
    }
    const auto goes_on = [&](std::size_t at) {
      return at < tokens.size() && tokens[at].directive == directive;
    };
    Definition one = {i, i + 1, i + 1};
    while (goes_on(one.end)) {
      ++one.end;
    }
    if (one.text < one.end && tokens[one.text].is("(") &&
        tokens[one.text].begin == tokens[i].end()) {
      one.text = std::min(closing_bracket(tokens, one.text) + 1, one.end);
    }
    const std::size_t hash = hash_before(source, tokens[i]);
    if (source.substr(hash, tokens[i].begin - hash).find("define") != std::string_view::npos) {
      result.push_back(one);
    }
    i = one.end - 1;
  }
  return result;
}

std::string rewrite(std::string_view text, std::string_view shown_path,
                    const std::string& given_folder) {
  const std::string whole = with_given_headers(text, shown_path, given_folder);
  const std::string_view source = whole;
  const Tokens tokens = tokenize(source);
  std::vector<Edit> edits;
  rewrite_launches(tokens, edits);
  rewrite_dynamic_shared_memory(tokens, edits);
  rewrite_shared_variables(tokens, edits);
  rewrite_launch_bounds(source, tokens, edits);
  rewrite_kernel_pointers(tokens, edits);
  const bool has_ptx = rewrite_inline_assembly(tokens, edits);
  rewrite_array_indices(tokens, edits);
  rewrite_constexpr_functions(tokens, edits);
  rewrite_device_arch(source, tokens, edits);
  // nvcc gives every .cu file the runtime's header, asked or not.
  const std::string header = has_ptx ? "onepass_simulator/ptx.h" : "cuda_runtime.h";
  return "#include <" + header + ">\n" + line_directive(1, shown_path) + "\n" +
         apply(source, std::move(edits));
}

}  // namespace onepass::rewriter
