// Cuts CUDA C++ source text into tokens.
//
// Only what carries code becomes a token: comments, blanks, continuation marks, skipped `#if 0`
// regions and the free text of #error, #warning, #pragma and #include do not. So the passes that
// look for launches never mistake a `<<<` in a comment or a string for one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace onepass::rewriter {

enum class TokenKind { kIdentifier, kNumber, kString, kCharacter, kPunctuator };

/// A line as the compiler counts it: from 1 on, and anew behind each #line.
struct Line {
  int number;
  std::string_view file;  // of the last #line that names one; "" before the first
};

struct Token {
  TokenKind kind;
  std::string_view text;  // a part of the source
  std::size_t begin;      // its offset there
  Line line;
  // 0 in ordinary code, else the number of the preprocessor directive that it is a part of. A
  // launch never reaches from a directive into the code around it.
  int directive;

  std::size_t end() const { return begin + text.size(); }
  bool is(std::string_view spelling) const { return text == spelling; }
  bool is_any(std::initializer_list<std::string_view> spellings) const {
    return std::find(spellings.begin(), spellings.end(), text) != spellings.end();
  }
  bool opens_bracket() const { return is("(") || is("[") || is("{"); }
  bool closes_bracket() const { return is(")") || is("]") || is("}"); }
};

/// Source that cannot be rewritten. what() is one sentence, without the place.
class RewriteError : public std::runtime_error {
 public:
  RewriteError(const Line& line, const std::string& sentence)
      : std::runtime_error(sentence), line_(line.number), file_(line.file) {}
  int line() const { return line_; }
  /// "" if it is the file that rewrite() was given.
  const std::string& file() const { return file_; }

 private:
  int line_;
  std::string file_;
};

/// All tokens of `source`, which must outlive them. Punctuators are single characters, except for
/// `::` and `->`; so `<<<` is three tokens side by side. Throws RewriteError for a comment or raw
/// string without an end.
std::vector<Token> tokenize(std::string_view source);

/// #include <name> or "name", where the code is not skipped.
struct Include {
  std::string_view name;
  std::size_t begin, end;  // of the directive, without the newline
  Line next;               // that follows it
};

std::vector<Include> includes_in(std::string_view source);

/// The offset of the line that ends the group of the #if (or #elif) at `from`: its #else, #elif or
/// #endif.
std::size_t end_of_group(std::string_view source, std::size_t from);

/// The text from one token to before another, with a space for all that stands between two of them:
/// those of `==` stay together.
std::string as_written(const std::vector<Token>& tokens, std::size_t begin, std::size_t end);

}  // namespace onepass::rewriter
