// Runs one program to its end, with a time limit, its output captured.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace onepass::driver {

struct ProcessResult {
  enum class End { exited, signalled, timed_out, interrupted, not_started };
  End end = End::not_started;
  int code = 0;        // exit status, number of the signal, or errno where it did not start
  std::string output;  // stdout and stderr together, cut at the limit

  bool succeeded() const { return end == End::exited && code == 0; }
  /// "exited with 1", "was killed by signal 11", ... : the end of a sentence about the program.
  std::string describe() const;
};

struct ProcessLimits {
  double seconds = 600;
  std::size_t output_bytes = 1 << 20;
};

/// Runs `arguments` (the first is the program, looked up on PATH) with no stdin, in a process group
/// of its own, and waits. At the time limit, or at Ctrl-C, the whole group is killed; it is also
/// killed at the end, so that nothing the program left behind goes on running. `tick`, if given, is
/// called several times a second while the program runs; when it returns false, time is up.
ProcessResult run_process(const std::vector<std::string>& arguments, const ProcessLimits& limits,
                          const std::function<bool()>& tick = {});

}  // namespace onepass::driver
