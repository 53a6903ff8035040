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

/// Where a program finds the pipe for messages: what it tells beside what it prints.
constexpr const char* kMessagePipe = "/dev/fd/3";

/// Gets the next piece of a program's messages, which may be empty: it is called several times a
/// second while the program runs, and once after its end. When it returns false, time is up.
using MessageReader = std::function<bool(const std::string& piece)>;

/// Runs `arguments` (the first is the program, looked up on PATH) with no stdin, in a process group
/// of its own, and waits. At the time limit, or at Ctrl-C, the whole group is killed; it is also
/// killed at the end, so that nothing the program left behind goes on running. With `read_messages`
/// the program has a pipe for them.
ProcessResult run_process(const std::vector<std::string>& arguments, const ProcessLimits& limits,
                          const MessageReader& read_messages = {});

}  // namespace onepass::driver
