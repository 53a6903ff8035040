// The text of an asm statement, taken apart: declarations of registers, and instructions with their
// operands. It knows no instruction.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace onepass::rewriter {

/// PTX that the simulator does not run. what() is a sentence for the student.
class PtxError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct PtxOperand {
  enum class Kind { name, number, address, list } kind;
  std::string text;                    // "%0", "%tid.x", "mask", "0x1f", "0f3F800000", "1.5"
  long long offset = 0;                // address: [%0+16]
  std::vector<PtxOperand> parts = {};  // list: {%0, %1}
};

/// `@!p ld.global.f32 %0, [%1];`
struct PtxStatement {
  std::string guard;  // "p", or empty
  bool is_negated = false;
  std::string name;  // "ld.global.f32"
  std::vector<PtxOperand> operands = {};
};

struct PtxRegister {
  std::string type, name;  // of `.reg .f32 sum;`
};

struct PtxText {
  std::vector<PtxRegister> registers;
  std::vector<PtxStatement> statements;
};

/// Throws PtxError for what is no such text.
PtxText parse_ptx(const std::string& text);

}  // namespace onepass::rewriter
