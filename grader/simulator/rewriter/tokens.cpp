#include "tokens.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>

namespace onepass::rewriter {
namespace {

bool begins_identifier(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) || c == '_' || c == '$' || (c & 0x80);
}
bool continues_identifier(char c) {
  return begins_identifier(c) || std::isdigit(static_cast<unsigned char>(c));
}

std::string_view without_leading_blanks(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(" \t"), text.size()));
}

// A backslash and the newline after it: the line goes on.
std::size_t splice_length(std::string_view source, std::size_t offset) {
  const std::string_view rest = source.substr(std::min(offset, source.size()), 3);
  return rest.substr(0, 2) == "\\\n" ? 2 : rest == "\\\r\n" ? 3 : 0;
}

// The offset of the newline that ends the logical line.
std::size_t end_of_line(std::string_view source, std::size_t from) {
  std::size_t offset = from;
  while (offset < source.size() && source[offset] != '\n') {
    offset += std::max<std::size_t>(splice_length(source, offset), 1);
  }
  return std::min(offset, source.size());
}

// Walks through the source once, from the left.
class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}

  void run() {
    while (position_ < source_.size()) {
      step();
    }
  }

  std::vector<Token> tokens;
  std::vector<Include> includes;

 private:
  char at(std::size_t offset) const { return offset < source_.size() ? source_[offset] : '\0'; }
  bool sees(std::string_view text) const { return source_.substr(position_, text.size()) == text; }

  void step() {
    const char c = at(position_);
    if (splice_length(source_, position_) > 0) {
      skip_to(position_ + splice_length(source_, position_));
    } else if (c == '\n') {
      directive_ = 0;
      line_is_blank_ = true;
      skip_to(position_ + 1);
    } else if (std::isspace(static_cast<unsigned char>(c))) {
      skip_to(position_ + 1);
    } else if (sees("//")) {
      skip_to(end_of_line(source_, position_));
    } else if (sees("/*")) {
      skip_to(position_after("*/", 2, "this comment has no end: add */"));
    } else if (c == '#' && line_is_blank_) {
      directive();
    } else {
      line_is_blank_ = false;
      token(c);
    }
  }

  void token(char c) {
    if (begins_identifier(c)) {
      identifier_or_prefixed_literal();
    } else if (std::isdigit(static_cast<unsigned char>(c)) ||
               (c == '.' && std::isdigit(static_cast<unsigned char>(at(position_ + 1))))) {
      number();
    } else if (c == '"' || c == '\'') {
      emit(c == '"' ? TokenKind::kString : TokenKind::kCharacter, end_of_quoted(position_));
    } else {
      emit(TokenKind::kPunctuator, position_ + (sees("::") || sees("->") ? 2 : 1));
    }
  }

  void identifier_or_prefixed_literal() {
    std::size_t end = position_;
    while (continues_identifier(at(end))) {
      ++end;
    }
    const std::string_view word = source_.substr(position_, end - position_);
    static constexpr std::array<std::string_view, 9> kPrefixes = {"R",   "u8", "u",  "U", "L",
                                                                  "u8R", "uR", "UR", "LR"};
    const bool is_prefix = std::find(kPrefixes.begin(), kPrefixes.end(), word) != kPrefixes.end();
    if (is_prefix && at(end) == '"' && word.back() == 'R') {
      emit(TokenKind::kString, end_of_raw_string(end));
    } else if (is_prefix && at(end) == '"') {
      emit(TokenKind::kString, end_of_quoted(end));
    } else if (is_prefix && at(end) == '\'' && word.back() != 'R') {
      emit(TokenKind::kCharacter, end_of_quoted(end));
    } else {
      emit(TokenKind::kIdentifier, end);
    }
  }

  // Digit separators (1'000'000) and exponents (1e-6, 0x1p+3) belong to the number.
  void number() {
    std::size_t end = position_;
    while (continues_identifier(at(end)) || at(end) == '.' ||
           (at(end) == '\'' && continues_identifier(at(end + 1))) ||
           ((at(end) == '+' || at(end) == '-') && end > position_ &&
            std::string_view("eEpP").find(at(end - 1)) != std::string_view::npos)) {
      ++end;
    }
    emit(TokenKind::kNumber, end);
  }

  // `#name`: the tokens after it up to the end of the logical line are the directive's own.
  void directive() {
    const std::size_t hash = position_;
    std::size_t begin = hash + 1;
    while (at(begin) == ' ' || at(begin) == '\t') {
      ++begin;
    }
    std::size_t end = begin;
    while (continues_identifier(at(end))) {
      ++end;
    }
    const std::string_view name = source_.substr(begin, end - begin);
    if (name == "if" && is_zero(end)) {
      skip_to(end_of_group(source_, end));
    } else if (name == "define" || name == "if" || name == "elif" || name == "ifdef" ||
               name == "ifndef") {
      directive_ = ++directives_;
      line_is_blank_ = false;
      skip_to(end);
    } else {
      skip_to(end_of_line(source_, end));
      const std::string_view rest = without_leading_blanks(source_.substr(end, position_ - end));
      if (name == "line") {
        count_from(rest);
      } else if (name == "include") {
        includes.push_back({quoted_in(rest), hash, position_, {line_.number + 1, line_.file}});
      }
    }
  }

  // `#line 12 "file"`: the next line is that one. The name may be missing.
  void count_from(std::string_view text) {
    if (text.empty() || !std::isdigit(static_cast<unsigned char>(text[0]))) {
      return;
    }
    line_.number = std::atoi(std::string(text.substr(0, 9)).c_str()) - 1;
    if (text.find('"') != std::string_view::npos) {
      line_.file = quoted_in(text);
    }
  }

  // What stands between the first quotes or angle brackets.
  static std::string_view quoted_in(std::string_view text) {
    const std::size_t begin = std::min(text.find_first_of("\"<"), text.size() - 1) + 1;
    return text.empty() ? text : text.substr(begin, text.find_first_of("\">", begin) - begin);
  }

  bool is_zero(std::size_t from) const {
    std::string_view rest = source_.substr(from, end_of_line(source_, from) - from);
    rest = without_leading_blanks(rest.substr(0, std::min(rest.find("//"), rest.find("/*"))));
    rest = rest.substr(0, rest.find_last_not_of(" \t\r") + 1);
    return rest == "0";
  }

  // Ends at the closing quote; at the end of the line where there is none, as in `#if`-ed out text
  // like "don't". The compiler will say what is wrong with it.
  std::size_t end_of_quoted(std::size_t quote) const {
    std::size_t offset = quote + 1;
    while (offset < source_.size() && source_[offset] != '\n') {
      if (source_[offset] == source_[quote]) {
        return offset + 1;
      }
      offset += splice_length(source_, offset) > 0 ? splice_length(source_, offset)
                : source_[offset] == '\\'          ? 2
                                                   : 1;
    }
    return std::min(offset, source_.size());
  }

  std::size_t end_of_raw_string(std::size_t quote) const {
    const std::size_t open = source_.find('(', quote);
    const std::string_view mark = open == std::string_view::npos
                                      ? std::string_view()
                                      : source_.substr(quote + 1, open - quote - 1);
    const std::string closing = ")" + std::string(mark) + "\"";
    const std::size_t end = open == std::string_view::npos ? open : source_.find(closing, open + 1);
    if (end == std::string_view::npos) {
      throw RewriteError(line_, "this raw string has no end: add " + closing);
    }
    return end + closing.size();
  }

  std::size_t position_after(std::string_view text, std::size_t skip, const char* sentence) const {
    const std::size_t found = source_.find(text, position_ + skip);
    if (found == std::string_view::npos) {
      throw RewriteError(line_, sentence);
    }
    return found + text.size();
  }

  void emit(TokenKind kind, std::size_t end) {
    tokens.push_back(
        {kind, source_.substr(position_, end - position_), position_, line_, directive_});
    skip_to(end);
  }

  void skip_to(std::size_t end) {
    line_.number += static_cast<int>(std::count(
        source_.begin() + position_, source_.begin() + std::min(end, source_.size()), '\n'));
    position_ = end;
  }

  std::string_view source_;
  std::size_t position_ = 0;
  Line line_ = {1, {}};
  int directive_ = 0;   // the one that the current line belongs to
  int directives_ = 0;  // how many there were
  bool line_is_blank_ = true;
};

}  // namespace

std::vector<Token> tokenize(std::string_view source) {
  Lexer lexer(source);
  lexer.run();
  return std::move(lexer.tokens);
}

std::vector<Include> includes_in(std::string_view source) {
  Lexer lexer(source);
  lexer.run();
  return std::move(lexer.includes);
}

std::size_t end_of_group(std::string_view source, std::size_t from) {
  int depth = 1;
  std::size_t line = std::min(end_of_line(source, from) + 1, source.size());
  while (line < source.size()) {
    const std::size_t end = end_of_line(source, line);
    std::string_view text = without_leading_blanks(source.substr(line, end - line));
    if (!text.empty() && text[0] == '#') {
      text = without_leading_blanks(text.substr(1));
      const bool opens = text.substr(0, 2) == "if";
      const bool closes = text.substr(0, 5) == "endif";
      depth += opens - closes;
      if (depth == 0 || (depth == 1 && text.substr(0, 2) == "el")) {
        return line;
      }
    }
    line = std::min(end + 1, source.size());
  }
  return source.size();
}

std::string as_written(const std::vector<Token>& tokens, std::size_t begin, std::size_t end) {
  std::string text;
  for (std::size_t i = begin; i < end; ++i) {
    text += (i == begin || tokens[i].begin == tokens[i - 1].end() ? "" : " ");
    text += tokens[i].text;
  }
  return text;
}

}  // namespace onepass::rewriter
