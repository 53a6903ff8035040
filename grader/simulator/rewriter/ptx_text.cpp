#include "ptx_text.h"

#include <cctype>
#include <cstdlib>

namespace onepass::rewriter {
namespace {

constexpr const char* kOnGpu = ": the simulator does not run such PTX; grade this on a GPU";

bool continues_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

class PtxParser {
 public:
  explicit PtxParser(const std::string& text) : text_(text) {}

  std::vector<PtxStatement> run() {
    int scopes = 0;
    for (skip_blanks(); position_ < text_.size(); skip_blanks()) {
      const std::size_t begin = position_;
      try {
        if (takes(';')) continue;
        found_.push_back(statement(begin));
        scopes += found_.back().name == "{";
        scopes -= found_.back().name == "}";
        if (scopes < 0) throw PtxError("the text of this asm has a } without its {");
      } catch (const PtxError& error) {
        throw PtxError(error.what(), begin);
      }
    }
    if (scopes > 0) throw PtxError("the text of this asm has a { without its }");
    return std::move(found_);
  }

 private:
  char at(std::size_t offset) const { return offset < text_.size() ? text_[offset] : '\0'; }

  void skip_blanks() {
    while (position_ < text_.size()) {
      if (std::isspace(static_cast<unsigned char>(text_[position_]))) {
        ++position_;
      } else if (text_.compare(position_, 2, "//") == 0) {
        position_ = std::min(text_.find('\n', position_), text_.size());
      } else if (text_.compare(position_, 2, "/*") == 0) {
        const std::size_t end = text_.find("*/", position_ + 2);
        if (end == std::string::npos) throw PtxError("a comment in this asm has no end: add */");
        position_ = end + 2;
      } else {
        return;
      }
    }
  }

  bool takes(char c) {
    skip_blanks();
    if (at(position_) != c) return false;
    ++position_;
    return true;
  }
  void expect(char c, const std::string& after) {
    if (takes(c)) return;
    const std::string expected = std::string("a ") + c;
    const bool begins_anew = continues_name(at(position_)) || at(position_) == '}';
    if (position_ < text_.size() && !begins_anew) {
      throw PtxError(after + " has " + printable(at(position_)) + " where " + expected +
                     " is expected" + kOnGpu);
    }
    throw PtxError(expected + " is missing after " + after + " in this asm" +
                   (c == ';' ? ": each instruction ends in one" : ""));
  }

  /// "ld.global.L2::128B.f32", "%tid.x", "mask", ".reg".
  std::string name() {
    skip_blanks();
    const std::size_t begin = position_;
    if (at(position_) == '%') ++position_;
    while (continues_name(at(position_)) || at(position_) == '.' ||
           (at(position_) == ':' && at(position_ + 1) == ':')) {
      position_ += at(position_) == ':' ? 2 : 1;
    }
    return text_.substr(begin, position_ - begin);
  }

  PtxStatement statement(std::size_t begin) {
    PtxStatement found = {begin};
    if (takes('{')) return {begin, "{"};
    if (takes('}')) return {begin, "}"};
    if (takes('@')) {
      found.is_negated = takes('!');
      found.guard = name();
    }
    found.name = name();
    if (found.name.empty() || found.name[0] == '%') {
      throw PtxError(std::string("an instruction is expected where this asm's text has ") +
                     printable(at(position_)) + kOnGpu);
    }
    if (found.name == ".reg") return declaration(begin);
    if (found.name[0] == '.') throw PtxError("the PTX directive " + found.name + kOnGpu);
    if (takes(':')) {
      found.name += ':';
      return found;
    }
    skip_blanks();
    while (position_ < text_.size() && at(position_) != ';') {
      found.operands.push_back(operand(found.name));
      if (!takes(',')) break;
    }
    expect(';', found.name);
    return found;
  }

  // `.reg .f32 a, b;`
  PtxStatement declaration(std::size_t begin) {
    PtxStatement found = {begin, ".reg" + name()};
    do {
      const std::string own = name();
      const std::size_t begin_of_word = !own.empty() && own[0] == '%' ? 1 : 0;
      if (own.size() == begin_of_word || own.find_first_of("%.:", begin_of_word) != own.npos ||
          std::isdigit(static_cast<unsigned char>(own[begin_of_word]))) {
        throw PtxError("the name of a register is expected in " + found.name);
      }
      found.operands.push_back({PtxOperand::Kind::name, own});
    } while (takes(','));
    expect(';', found.name);
    return found;
  }

  PtxOperand operand(const std::string& instruction) {
    if (takes('{')) {
      PtxOperand list{PtxOperand::Kind::list, ""};
      do {
        list.parts.push_back(simple(instruction));
      } while (takes(','));
      expect('}', "the list of registers of " + instruction);
      return list;
    }
    if (takes('[')) {
      PtxOperand address{PtxOperand::Kind::address, simple(instruction).text};
      if (takes('+')) {
        const PtxOperand offset = simple(instruction);
        if (offset.kind != PtxOperand::Kind::number || offset.text.find('.') != std::string::npos) {
          throw PtxError("the offset of an address of " + instruction + " has to be a number");
        }
        address.offset = std::strtoll(offset.text.c_str(), nullptr, 0);
      }
      expect(']', "the address of " + instruction);
      return address;
    }
    PtxOperand first = simple(instruction);
    if (!takes('|')) return first;
    return {PtxOperand::Kind::pair, "", 0, {std::move(first), simple(instruction)}};
  }

  /// A register or a number.
  PtxOperand simple(const std::string& instruction) {
    const std::string sign = takes('-') ? "-" : "";
    const std::string word = name();
    if (word.empty() || (!sign.empty() && !std::isdigit(static_cast<unsigned char>(word[0])))) {
      throw PtxError("an operand of " + instruction + " is not understood" + kOnGpu);
    }
    const bool is_number = std::isdigit(static_cast<unsigned char>(word[0]));
    return {is_number ? PtxOperand::Kind::number : PtxOperand::Kind::name, sign + word};
  }

  static std::string printable(char c) {
    return std::isprint(static_cast<unsigned char>(c)) && c != '"' && c != '\\'
               ? std::string(1, c)
               : std::string("something else");
  }

  const std::string& text_;
  std::vector<PtxStatement> found_;
  std::size_t position_ = 0;
};

}  // namespace

std::vector<PtxStatement> parse_ptx(const std::string& text) {
  return PtxParser(text).run();
}

}  // namespace onepass::rewriter
