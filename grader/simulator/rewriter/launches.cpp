// kernel<T><<<grid, block, bytes, stream>>>(x, n)
//   becomes
// ONEPASS_LAUNCH(kernel<T>)(grid, block, bytes, stream)(x, n)
//
// The macro (onepass_simulator/launch.h) makes a generic lambda of the kernel's name, so that
// template deduction, default arguments and conversions happen as in an ordinary call.
#include <algorithm>

#include "passes.h"

namespace onepass::rewriter {
namespace {

bool adjacent(const Tokens& tokens, std::size_t first, const char* mark) {
  return first + 2 < tokens.size() && tokens[first].is(mark) && tokens[first + 1].is(mark) &&
         tokens[first + 2].is(mark) && tokens[first].end() == tokens[first + 1].begin &&
         tokens[first + 1].end() == tokens[first + 2].begin;
}

// Reads a launch's kernel expression from the right to the left: a name with its scope and template
// arguments, a member, an element of a table, a call, or anything in parentheses.
class KernelReader {
 public:
  KernelReader(const Tokens& tokens, std::size_t launch) : tokens_(tokens), launch_(launch) {}

  /// The index of the first token of the kernel expression that ends before the launch.
  std::size_t begin() {
    std::size_t position = launch_;
    while (true) {
      const Token& last = before(position);
      if (last.is(">")) {
        position = opening_angle(position - 1);
        expect_name_before(position);
      } else if (last.is(")") || last.is("]")) {
        position = opening_bracket(position - 1);
        if (!continues_to_the_left(position)) {
          return position;
        }
      } else if (is_name(last)) {
        --position;
        if (!step_over_scope(position)) {
          return position;
        }
      } else {
        fail();
      }
    }
  }

 private:
  [[noreturn]] void fail() const {
    throw RewriteError(tokens_[launch_].line,
                       "a launch needs the kernel's name before <<<, as in "
                       "kernel<<<grid, block>>>(arguments)");
  }

  bool has(std::size_t position) const {
    return position > 0 && tokens_[position - 1].directive == tokens_[launch_].directive;
  }
  const Token& before(std::size_t position) const {
    if (!has(position)) {
      fail();
    }
    return tokens_[position - 1];
  }

  void expect_name_before(std::size_t position) const {
    if (!is_name(before(position))) {
      fail();
    }
  }

  // A call's or a subscript's left side stands before its bracket.
  bool continues_to_the_left(std::size_t position) const {
    return has(position) && (is_name(tokens_[position - 1]) || tokens_[position - 1].is(">") ||
                             tokens_[position - 1].is("]"));
  }

  // Moves over what joins a name to what stands before it. False: the name is the first token.
  bool step_over_scope(std::size_t& position) const {
    std::size_t joint = position;
    if (has(joint) && tokens_[joint - 1].is("template")) {
      --joint;
    }
    if (has(joint) && (tokens_[joint - 1].is(".") || tokens_[joint - 1].is("->"))) {
      position = joint - 1;
      return true;
    }
    if (has(joint) && tokens_[joint - 1].is("::")) {
      position = joint - 1;
      return has(position) && (is_name(tokens_[position - 1]) || tokens_[position - 1].is(">"));
    }
    // `a<b < 3><<<`: what was read is a comparison inside template arguments.
    if (has(position) && tokens_[position - 1].is("<")) {
      position = position - 1;
      expect_name_before(position);
      return true;
    }
    return false;
  }

  std::size_t opening_bracket(std::size_t close) const {
    int depth = 0;
    for (std::size_t i = close + 1; has(i); --i) {
      depth += tokens_[i - 1].closes_bracket();
      depth -= tokens_[i - 1].opens_bracket();
      if (depth == 0) {
        return i - 1;
      }
    }
    fail();
  }

  std::size_t opening_angle(std::size_t close) const {
    int depth = 0;
    std::size_t i = close + 1;
    while (has(i)) {
      const Token& token = tokens_[i - 1];
      if (token.closes_bracket()) {
        i = opening_bracket(i - 1);
        continue;
      }
      if (token.is(";") || token.opens_bracket()) {
        break;
      }
      depth += token.is(">");
      depth -= token.is("<");
      --i;
      if (depth == 0) {
        return i;
      }
    }
    fail();
  }

  const Tokens& tokens_;
  const std::size_t launch_;
};

// Finds the first `>` of the launch's `>>>`, and counts what stands between on the way.
std::size_t closing_chevrons(const Tokens& tokens, std::size_t launch, int& arguments) {
  int depth = 0;
  arguments = 0;
  for (std::size_t i = launch + 3; i < tokens.size(); ++i) {
    const Token& token = tokens[i];
    if (token.directive != tokens[launch].directive) {
      continue;
    }
    if (depth == 0 && adjacent(tokens, i, ">")) {
      while (adjacent(tokens, i + 1, ">")) {
        ++i;  // f<int>>>>: the first one closes f's template arguments
      }
      return i;
    }
    const bool is_next = depth == 0 && adjacent(tokens, i, "<");  // another launch's
    if (is_next || (depth == 0 && (token.is(";") || token.closes_bracket()))) {
      break;
    }
    depth += token.opens_bracket();
    depth -= token.closes_bracket();
    arguments = std::max(arguments, 1) + (depth == 0 && token.is(","));
  }
  throw RewriteError(tokens[launch].line, "this launch has a <<< without its >>>");
}

// The kernel's arguments are copied by a generic lambda, to which NULL is a number and a braced
// list is nothing.
void rewrite_arguments(const Tokens& tokens, std::size_t open, std::size_t close,
                       std::vector<Edit>& edits) {
  for (std::size_t i = open + 1; i < close; ++i) {
    const bool starts = tokens[i - 1].is(",") || i == open + 1;
    if (starts && tokens[i].is("{")) {
      throw RewriteError(tokens[i].line,
                         "a kernel's argument cannot be a braced list without its type: write "
                         "float4{...} in place of {...}");
    }
    if (starts && tokens[i].is("NULL") && (tokens[i + 1].is(",") || i + 1 == close)) {
      edits.push_back({tokens[i].begin, tokens[i].end(), "nullptr"});
    }
    if (tokens[i].opens_bracket()) {
      i = closing_bracket(tokens, i);
    }
  }
}

void rewrite_launch(const Tokens& tokens, std::size_t launch, std::vector<Edit>& edits) {
  const Token& first = tokens[launch];
  const bool in_macro = first.directive != 0;
  const std::size_t kernel = KernelReader(tokens, launch).begin();

  int count = 0;
  const std::size_t close = closing_chevrons(tokens, launch, count);
  if (count > 4 || (count < 2 && !in_macro)) {  // a macro may say <<<__VA_ARGS__>>>
    throw RewriteError(first.line,
                       "a launch takes two to four values, <<<grid, block, shared memory bytes, "
                       "stream>>>, and this one has " +
                           std::to_string(count));
  }

  const std::size_t open = close + 3;
  const bool has_arguments =
      open < tokens.size() && tokens[open].is("(") && tokens[open].directive == first.directive;
  if (has_arguments) {
    const std::size_t end = closing_bracket(tokens, open);
    if (end == tokens.size()) {
      throw RewriteError(tokens[open].line, "the ( after this launch's >>> is never closed");
    }
    rewrite_arguments(tokens, open, end, edits);
  } else if (!in_macro) {
    throw RewriteError(tokens[close].line,
                       "a launch needs its arguments in parentheses after >>>, even if there are "
                       "none: kernel<<<grid, block>>>()");
  }

  edits.push_back({tokens[kernel].begin, tokens[kernel].begin, "ONEPASS_LAUNCH("});
  edits.push_back({first.begin, tokens[launch + 2].end(), ")("});
  edits.push_back({tokens[close].begin, tokens[close + 2].end(), ")"});
}

}  // namespace

void rewrite_launches(const Tokens& tokens, std::vector<Edit>& edits) {
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const bool is_operator = i > 0 && tokens[i - 1].is("operator");  // operator<<<T>(...)
    if (adjacent(tokens, i, "<") && !is_operator) {
      rewrite_launch(tokens, i, edits);
      i += 2;
    }
  }
}

}  // namespace onepass::rewriter
