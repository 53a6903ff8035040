// asm volatile("ld.global.f32 %0, [%1];" : "=f"(a) : "l"(p) : "memory");
//   becomes
// do { struct OnepassPtx { static void run(float& ..., unsigned long long ptx_1) { ... } };
//      OnepassPtx::run(output<float>(a), input<unsigned long long>(p)); } while (0);
//
// A host compiler cannot run PTX, so none of it gets there: what ptx_table.cpp knows becomes calls,
// and the rest a stop with a sentence. That stands where the asm stood, so behind
// `#ifdef __NVCC__` it does no harm. The operands stay where they are, on their lines.
#include <algorithm>
#include <cctype>
#include <optional>

#include "passes.h"
#include "ptx_lowering.h"

namespace onepass::rewriter {
namespace {

/// `"=f"(x)`
struct PlacedOperand {
  AsmOperand operand;
  std::size_t constraint;  // the token
  std::size_t open, close;
};

/// The tokens of one asm statement, from `(` to `)`.
struct AsmStatement {
  std::size_t open, close;
  std::string text;                       // of the instructions
  std::vector<std::size_t> dropped = {};  // tokens that say nothing more
  std::vector<PlacedOperand> operands = {};
  bool clobbers_memory = false;
};

/// As many newlines. In a directive each is a continued line.
std::string newlines(std::ptrdiff_t count, const Token& token) {
  std::string result;
  for (; count > 0; --count) result += token.directive == 0 ? "\n" : "\\\n";
  return result;
}

/// Newlines of what an edit replaces.
std::string newlines_of(const Token& token) {
  return newlines(std::count(token.text.begin(), token.text.end(), '\n'), token);
}

/// What an ordinary or a raw string literal says. Throws for prefixes and rare escapes.
std::string string_value(const Token& token) {
  const std::string_view text = token.text;
  const PtxError not_understood(
      "the text of this asm is not understood: write it in ordinary strings, \"...\"");
  if (text[0] == 'R') {
    const std::size_t open = text.find('(');
    return std::string(text.substr(open + 1, text.size() - 2 * open - 1));
  }
  if (text[0] != '"' || text.size() < 2 || text.back() != '"') throw not_understood;
  std::string value;
  for (std::size_t i = 1; i + 1 < text.size(); ++i) {
    if (text[i] != '\\') {
      value += text[i];
      continue;
    }
    const char next = text[++i];
    if (next == '\r' && text[i + 1] == '\n') ++i;
    const std::size_t escape = std::string_view("nrt\\\"'").find(next);
    if (escape != std::string_view::npos) {
      value += "\n\r\t\\\"'"[escape];
    } else if (next != '\n' && next != '\r') {
      throw not_understood;
    }
  }
  return value;
}

/// "%%tid.x" is what PTX writes %tid.x. "%0" names an operand in both.
std::string unescaped(const std::string& text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    result += text[i];
    if (text.compare(i, 2, "%%") == 0) ++i;
  }
  return result;
}

/// "=f": what it says of its operand.
AsmOperand operand_of(const std::string& constraint, bool is_output) {
  const bool has_mark = !constraint.empty() && (constraint[0] == '=' || constraint[0] == '+');
  const std::string letter = constraint.substr(has_mark ? 1 : 0);
  if (letter.size() != 1 || register_type(letter[0]) == nullptr || has_mark != is_output ||
      (is_output && letter == "n")) {
    throw PtxError(
        "an operand of asm has one of the constraints \"r\", \"l\", \"h\", \"f\", \"d\" and \"n\"; "
        "those before the second colon are results, \"=r\" or \"+r\"");
  }
  return {letter[0], is_output, !is_output || constraint[0] == '+'};
}

/// Reads what stands between the parentheses.
class AsmReader {
 public:
  AsmReader(const Tokens& tokens, std::size_t open)
      : tokens_(tokens), next_(open + 1), found_{open, closing_bracket(tokens, open), ""} {}

  AsmStatement run() {
    if (found_.close == tokens_.size() || has_directives()) not_understood();
    while (is_string()) {
      found_.text += unescaped(string_value(tokens_[next_]));
      drop();
    }
    if (found_.dropped.empty()) not_understood();
    for (int part = 1; next_ < found_.close; ++part) {
      takes_colon(part);
      while (next_ < found_.close && !at_colon()) {
        part < 3 ? operand(part == 1) : clobber();
        if (next_ < found_.close && tokens_[next_].is(",")) {
          drop();
        } else if (next_ < found_.close && !at_colon()) {
          not_understood();
        }
      }
    }
    return std::move(found_);
  }

 private:
  /// Then what stands between the parentheses depends on more than the tokens say.
  bool has_directives() const {
    for (std::size_t i = found_.open; i < found_.close; ++i) {
      const char* begin = tokens_[i].text.data() + tokens_[i].text.size();
      const char* end = tokens_[i + 1].text.data();
      if (std::find(begin, end, '#') != end) return true;
    }
    return false;
  }

  bool is_string() const {
    return next_ < found_.close && tokens_[next_].kind == TokenKind::kString;
  }
  bool at_colon() const { return tokens_[next_].is(":") || tokens_[next_].is("::"); }
  void drop() { found_.dropped.push_back(next_++); }

  /// `::` are two colons, with nothing between.
  void takes_colon(int& part) {
    if (!at_colon() || part + tokens_[next_].is("::") > 3) not_understood();
    part += tokens_[next_].is("::");
    drop();
  }

  void operand(bool is_output) {
    const std::size_t constraint = next_;
    if (!is_string() || next_ + 1 >= found_.close || !tokens_[next_ + 1].is("(")) not_understood();
    const std::size_t close = closing_bracket(tokens_, next_ + 1);
    if (close + 1 > found_.close || close == next_ + 2) not_understood();
    found_.operands.push_back(
        {operand_of(string_value(tokens_[constraint]), is_output), constraint, next_ + 1, close});
    next_ = close + 1;
  }

  void clobber() {
    if (!is_string() || string_value(tokens_[next_]) != "memory") {
      throw PtxError("the only clobber of inline PTX is \"memory\"");
    }
    found_.clobbers_memory = true;
    drop();
  }

  [[noreturn]] static void not_understood() {
    throw PtxError(
        "this asm is not understood: the simulator reads asm volatile(\"...\" : \"=r\"(result) : "
        "\"r\"(operand) : \"memory\") with strings that stand there as they are");
  }

  const Tokens& tokens_;
  std::size_t next_;
  AsmStatement found_;
};

/// May a macro of that name say __device__? Those that it can be are written so.
bool is_like_macro(const Token& token) {
  return token.kind == TokenKind::kIdentifier && token.text.size() > 2 &&
         std::all_of(token.text.begin(), token.text.end(), [](char c) {
           return c == '_' || std::isupper(static_cast<unsigned char>(c));
         });
}

/// Is none of the functions around this token one for the device? In a macro nobody knows.
bool is_on_host(const Tokens& tokens, std::size_t place) {
  if (tokens[place].directive != 0) return false;
  int inside = 0;  // braces closed on the way back that have not been opened yet
  for (std::size_t i = place; i > 0; --i) {
    const Token& token = tokens[i - 1];
    if (token.directive != 0) continue;
    inside += token.is("}");
    if (!token.is("{") || inside-- > 0) continue;
    inside = 0;
    if (opens_device_function(tokens, i - 1)) return false;
    for (std::size_t k = i - 1; k > 0 && !tokens[k - 1].is_any({";", "{", "}"}); --k) {
      if (tokens[k - 1].directive == 0 && is_like_macro(tokens[k - 1])) return false;
    }
  }
  return true;
}

/// The function that holds the instructions, and the beginning of its call.
std::string beginning(const AsmStatement& statement) {
  std::string parameters, before, after;
  std::vector<AsmOperand> operands;
  for (std::size_t i = 0; i < statement.operands.size(); ++i) {
    const AsmOperand& operand = statement.operands[i].operand;
    const std::string type = register_type(operand.constraint), name = register_name(i);
    const std::string aliased = "::simulator::ptx::Aliased<" + type + ">::Type& ptx_out_";
    parameters += (i > 0 ? ", [[maybe_unused]] " : "[[maybe_unused]] ") +
                  (operand.is_output ? aliased + std::to_string(i) : type + " " + name);
    if (operand.is_output) {
      before += type + " " + name + " = " +
                (operand.is_read ? "ptx_out_" + std::to_string(i)
                                 : "::simulator::ptx::unset<" + type + ">()") +
                "; ";
      after += "ptx_out_" + std::to_string(i) + " = " + name + "; ";
    }
    operands.push_back(operand);
  }
  const std::string body = lower_ptx(statement.text, operands);
  return "do { struct OnepassPtx { __device__ __forceinline__ static void run(" + parameters +
         ") { " + before + body + after +
         (statement.clobbers_memory ? "::simulator::keep_order(); " : "") + "} }; OnepassPtx::run(";
}

void lower(const Tokens& tokens, std::size_t keyword, std::size_t open, std::vector<Edit>& edits) {
  const AsmStatement statement = AsmReader(tokens, open).run();
  if (is_on_host(tokens, keyword)) {
    throw PtxError("an exercise may not have assembly (asm) outside of kernels");
  }
  const auto replace = [&](std::size_t token, const std::string& text) {
    edits.push_back({tokens[token].begin, tokens[token].end(), text + newlines_of(tokens[token])});
  };
  const std::string begin = beginning(statement);
  replace(keyword, begin);
  for (std::size_t i = keyword + 1; i <= open; ++i) replace(i, "");
  for (const std::size_t token : statement.dropped) replace(token, "");
  for (std::size_t i = 0; i < statement.operands.size(); ++i) {
    const PlacedOperand& placed = statement.operands[i];
    const AsmOperand& operand = placed.operand;
    const std::string function = std::string(operand.is_output ? "output" : "input");
    const std::string call =
        operand.constraint == 'n'
            ? "static_cast<long long>"
            : "::simulator::ptx::" + function + "<" + register_type(operand.constraint) + ">";
    replace(placed.constraint, (i > 0 ? ", " : "") + call);
  }
  replace(statement.close, "); } while (0)");
}

/// Where the compiler is to show an error: at a token, or some lines below its beginning.
struct ShownAt {
  std::size_t token;
  std::ptrdiff_t lines = 0;
};

/// The line of the instruction, among the strings that the text is written in.
ShownAt shown_at(const Tokens& tokens, std::size_t keyword, std::size_t open,
                 const PtxError& error) {
  std::size_t place = error.place();
  if (place == std::string::npos) return {keyword};
  for (std::size_t i = open + 1; tokens[i].kind == TokenKind::kString; ++i) {
    const std::string text = unescaped(string_value(tokens[i]));
    if (place < text.size()) {
      const auto end = text.begin() + static_cast<std::ptrdiff_t>(place);
      return {i, tokens[i].text[0] == 'R' ? std::count(text.begin(), end, '\n') : 0};
    }
    place -= text.size();
  }
  return {keyword};
}

/// A stop and what drops the rest take the place of the asm and all that is in its parentheses.
void refuse(const Tokens& tokens, std::size_t keyword, std::size_t open, const PtxError& error,
            std::vector<Edit>& edits) {
  std::string sentence;
  for (const char* c = error.what(); *c != '\0'; ++c) {
    if (*c == '"' || *c == '\\') sentence += '\\';
    sentence += *c;
  }
  const ShownAt shown = shown_at(tokens, keyword, open, error);
  for (std::size_t i = keyword; i <= std::max(open, shown.token); ++i) {
    const Token& token = tokens[i];
    const std::ptrdiff_t lines = std::count(token.text.begin(), token.text.end(), '\n');
    const std::string text =
        i != shown.token ? newlines(lines, token)
                         : newlines(shown.lines, token) + "ONEPASS_REFUSED_ASM(\"" + sentence +
                               "\") ONEPASS_DROPPED_ASM(" + newlines(lines - shown.lines, token);
    edits.push_back({token.begin, token.end(), text});
  }
}

}  // namespace

bool rewrite_inline_assembly(const Tokens& tokens, std::vector<Edit>& edits) {
  bool has_ptx = false;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].kind != TokenKind::kIdentifier ||
        !tokens[i].is_any({"asm", "__asm__", "__asm"})) {
      continue;
    }
    std::size_t open = i + 1;
    while (open < tokens.size() && tokens[open].is_any({"volatile", "__volatile__"})) ++open;
    if (open == tokens.size() || !tokens[open].is("(") ||
        tokens[open].directive != tokens[i].directive) {
      edits.push_back({tokens[i].begin, tokens[i].end(), "ONEPASS_HIDDEN_ASM"});
      continue;
    }
    try {
      lower(tokens, i, open, edits);
      has_ptx = true;
    } catch (const PtxError& error) {
      refuse(tokens, i, open, error, edits);
    }
  }
  return has_ptx;
}

}  // namespace onepass::rewriter
