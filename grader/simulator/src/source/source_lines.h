// From an address in the running program to the student's file and line.
//
// The program carries debug information (-g). libbacktrace, which comes with g++, reads it once and
// then answers an address with its chain of inlined frames, innermost first. Frames of the
// simulator's own headers and of the system's are skipped: a warp shuffle is at the line that
// calls it, not inside the header that wraps it. Where g++ has no libbacktrace, `addr2line -i` is
// asked instead (source_lines_addr2line.cpp).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "events/events.h"

namespace simulator {

struct SourceLine {
  std::string file;  // empty if unknown
  int line = 0;
  int called_from =
      0;  // the line of the kernel, of the same file, that this was inlined into; or 0
  std::string caller_file =
      {};  // of a given header: called_from is the student's line, of this file
  std::string collective = {};  // what it calls there, if it is of CUB's: "cub::BlockReduce"; or ""
  bool in_storage = false;      // an access of that one's to its TempStorage

  friend bool operator==(const SourceLine& a, const SourceLine& b) {
    return a.line == b.line && a.file == b.file;
  }
};

/// The line of the call that returns to `address`. Answers are remembered. A header that the
/// exercise gives has the name by which it is included: "onepass/fast.h".
const SourceLine& source_line(CodeAddress address);

/// "line 41"; "line 57 of onepass/fast.h".
std::string line_text(CodeAddress address);

/// Of a line in a given header the student's that led to it: known by itself, or else by the host
/// code's calls that have led to the launch. Empty for another line, or if it is not known.
SourceLine students_line(const SourceLine& line, const std::vector<CodeAddress>& host_calls);

/// The calls that host code has made, of which `site` is the innermost, and those around it.
std::vector<CodeAddress> calls_from(CodeAddress site);

/// What the two backends implement: all frames at `address`, innermost first.
std::vector<SourceLine> read_frames(std::uintptr_t address);

/// For host code that has called the simulator from there: the outermost line of the same file that
/// this happens in. 0 if it is the same line, or unknown.
int outermost_line(CodeAddress site);

/// In a signal's handler: the student's call that the interrupted instruction belongs to, or that
/// instruction if it is nobody's.
CodeAddress interrupted_call(CodeAddress instruction);

}  // namespace simulator
