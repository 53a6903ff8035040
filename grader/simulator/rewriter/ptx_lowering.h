// From the text of an asm statement to C++ statements that do the same.
#pragma once

#include <string>
#include <vector>

#include "ptx_text.h"

namespace onepass::rewriter {

/// "=f"(x): an operand by its constraint.
struct AsmOperand {
  char constraint;         // r, l, h, f, d or n
  bool is_output = false;  // = or +
  bool is_read = false;    // no =
};

/// The C++ type of a constraint's register; nullptr if nvcc has no such constraint.
const char* register_type(char constraint);

/// Of operand 3: ptx_3. The registers have these names, of the types above.
std::string register_name(std::size_t operand);

/// Throws PtxError for what the simulator does not run, and for what ptxas would refuse.
std::string lower_ptx(const std::string& text, const std::vector<AsmOperand>& operands);

}  // namespace onepass::rewriter
