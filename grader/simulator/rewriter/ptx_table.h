// The PTX instructions that the simulator knows, as a table: what is written, its operands, and the
// C++ that does the same.
#pragma once

#include <string>
#include <vector>

namespace onepass::rewriter {

/// pattern    the parts of the instruction's name. One that may be absent ends in "?"; of those
///            with "|" between them one must be there; "@cache" and its kin are lists of such
///            parts.
/// operands   a letter each, d for the result; {d} or {a} registers in braces. Their type is the
///            last of the instruction's name, or stands behind a colon; there "constant" is a
///            number that the compiler knows. "_" is a result that nobody wants, "d|_" either;
///            "d|e" such a result of 32 bits and a predicate.
///            Of addresses, [p] is one in the memory that the instruction's name says, [q] one in
///            global and [s] and [m] are ones in shared memory.
/// meaning    C++ of the operands $a, $b and so on, and of $T, the type. What it gives is $d. $P is
///            the pointer that [p] leads to, $O the order and the scope of an atomic.
struct PtxInstruction {
  const char* pattern;
  const char* operands;
  const char* meaning;
};

extern const std::vector<PtxInstruction> kPtxInstructions;

/// How a type of PTX's is called in C++.
struct PtxType {
  const char* name;  // "u32"
  char kind;         // b: bits; u, s: integer; f: floating point; h: halves; p: predicate
  int bits;
  const char* cpp;
};

/// nullptr if there is none of that name.
const PtxType* ptx_type(const std::string& name);

/// The parts of a pattern that "@cache" and its kin stand for. Of no other name.
std::string ptx_parts(const std::string& list);

}  // namespace onepass::rewriter
