// How well aligned is what an access reads or writes? A structure of eight halves may begin at any
// even address, so nvcc makes eight loads of it; with alignas(16) it makes one, and must not find
// it elsewhere.
//
// Likewise neighbouring members that are read or written one after the other, {x, y} or p->x +
// p->y: where their type is aligned to both, nvcc makes one access of them.
//
// The calls that g++ -fsanitize=thread makes before an access tell its address and its size.
// The alignment that g++ may assume there stands in its dump of the first instructions (-fdump-rtl-
// expand), and with -dp the assembly tells which call is which of the dump.
#pragma once

#include <string>

namespace onepass::rewriter {

/// The assembly, with the alignment in the names of the calls before accesses of structures:
/// __tsan_read_range_aligned_2. A call of which the dump does not tell stays as it is.
std::string with_alignments(const std::string& assembly, const std::string& dump);

/// Runs the command, one of g++'s own steps (its option -wrapper hands them over). If that makes
/// assembly, it gets the alignments. Returns the status to exit with.
int run_compiler_step(char** command);

}  // namespace onepass::rewriter
