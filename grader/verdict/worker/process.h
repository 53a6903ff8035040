// Process: a worker as the operating system sees it. Started by fork and exec, in a session and
// process group of its own, confined (confinement.h), with pipes for requests, replies and what it
// prints.
//
// The student's code runs in there, so everything may go wrong: it may exit, crash, spin, flood its
// output, fork, close its descriptors. Whatever happens, wait() returns by its deadline, and kill()
// leaves nothing behind.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace onepass::verdict {

using Clock = std::chrono::steady_clock;

/// Bytes that are kept of what it prints.
constexpr std::size_t kMostOutput = 64 << 10;

/// How a process ended.
struct Exit {
  bool by_signal = false;
  int number = 0;  // of the signal, or the exit code
};

/// "SIGSEGV", "SIGABRT", ...
std::string signal_name(int number);

class Process {
 public:
  /// Starts the command; its first word is the path of a program. Throws std::runtime_error if
  /// there is no such program or the system has no room for it.
  explicit Process(const std::vector<std::string>& command);
  ~Process();  // kill()
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  int request_pipe() const { return request_; }
  int reply_pipe() const { return reply_; }

  /// Waits until `descriptor` is ready for `events` (POLLIN or POLLOUT; the end of the pipe counts
  /// as ready), while it keeps the captured output flowing. False if the process ended, the
  /// deadline passed, or it has started too many others.
  bool wait(int descriptor, short events, Clock::time_point deadline);

  /// Waits for the process to end by itself; nothing if it has not by the deadline.
  std::optional<Exit> wait_for_exit(Clock::time_point deadline);

  /// Ends the process, its group and whatever they left behind.
  void kill();

  /// It was forking without end.
  bool forked_too_much() const { return forked_too_much_; }

  /// What it printed since the last call: stdout and stderr as they came, kMostOutput at most.
  std::string take_output();

 private:
  bool has_exited();
  void drain_output();
  bool is_fork_bomb() const;

  pid_t pid_ = -1;
  int pidfd_ = -1;  // -1 where the kernel has none: then we look every few milliseconds
  int request_ = -1;
  int reply_ = -1;
  int output_pipe_ = -1;
  std::string output_;
  bool forked_too_much_ = false;
  std::optional<Exit> exit_;
};

}  // namespace onepass::verdict
