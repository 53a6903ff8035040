// From the text of an asm statement to C++ statements that do the same.
#pragma once

#include <string>
#include <vector>

#include "ptx_registers.h"

namespace onepass::rewriter {

/// Throws PtxError for what the simulator does not run, and for what ptxas would refuse.
std::string lower_ptx(const std::string& text, const std::vector<AsmOperand>& operands);

}  // namespace onepass::rewriter
