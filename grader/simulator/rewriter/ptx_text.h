// The text of an asm statement, taken apart: scopes, declarations of registers, and instructions
// with their operands. It knows no instruction.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace onepass::rewriter {

/// PTX that the simulator does not run. what() is a sentence for the student.
class PtxError : public std::runtime_error {
 public:
  explicit PtxError(const std::string& sentence, std::size_t place = std::string::npos)
      : std::runtime_error(sentence), place_(place) {}
  /// Where the statement begins in the text; npos if it is not about one.
  std::size_t place() const { return place_; }

 private:
  std::size_t place_;
};

struct PtxOperand {
  enum class Kind { name, number, address, list, pair } kind;
  std::string text;                    // "%0", "%tid.x", "mask", "0x1f", "0f3F800000", "1.5"
  long long offset = 0;                // address: [%0+16]
  std::vector<PtxOperand> parts = {};  // list: {%0, %1}; pair: %0|p
};

/// `@!p ld.global.f32 %0, [%1];` Of `.reg .f32 a, b;` the name is ".reg.f32" and the operands are a
/// and b; the braces of a scope are statements that are named "{" and "}", and a label's name is
/// "LAB_WAIT:".
struct PtxStatement {
  std::size_t place;  // in the text
  std::string name = "";
  std::string guard = "";  // "p", or empty
  bool is_negated = false;
  std::vector<PtxOperand> operands = {};
};

/// Throws PtxError for what is no such text.
std::vector<PtxStatement> parse_ptx(const std::string& text);

}  // namespace onepass::rewriter
