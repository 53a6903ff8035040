// Process: a program that we run, with pipes to it and from it, until it and all that it has
// started are gone. The driver runs compilers and graders with it, the deciding process its
// workers, and the tests what they test.
//
// What is run may be a student's code, so everything may go wrong: it may exit, crash, spin, flood
// its output, fork, leave its group, close its descriptors. Whatever happens, a wait comes to its
// end by its deadline, and kill() leaves nothing behind. Any number of threads may run a process
// each.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "process/confinement.h"

namespace onepass::process {

using Clock = std::chrono::steady_clock;

/// A pipe besides the one for what the program prints.
enum class Pipe { to_program, from_program };

/// What to run. Its stdin is empty; stdout and stderr are captured, as they come.
struct Program {
  std::vector<std::string> command;   // a path, or a name to look up on PATH; its arguments
  std::vector<Pipe> pipes = {};       // they are 3, 4, ... there; it has no other descriptors
  std::size_t most_output = 1 << 20;  // bytes kept of what it prints; the rest is thrown away
  long most_tasks = 0;  // processes in its session, or threads of its own; 0: any number
  std::vector<std::string> environment = {};  // "NAME=value", beside or instead of what it inherits
  std::optional<Allowance> allowance = {};    // nothing: it may do what we may. With one, the
                                              // command begins with a path
};

/// How a program ended.
struct Exit {
  bool by_signal = false;
  int number = 0;            // of the signal, or the exit code
  std::uint64_t memory = 0;  // bytes, the most seen in use, by it or a child it waited for
  double cpu_seconds = 0;
};

/// What a wait came to.
enum class Waited {
  ready,
  exited,
  timed_out,
  interrupted,      // Ctrl-C, see interrupt.h
  too_many_tasks,   // the program has, or
  too_much_memory,  // takes more than it may
};

/// A run from start to end.
struct Result {
  enum class End { exited, signalled, timed_out, interrupted, not_started };
  End end = End::not_started;
  int code = 0;        // exit status, number of the signal, or errno where it did not start
  std::string output;  // cut at most_output

  bool succeeded() const { return end == End::exited && code == 0; }
  /// "exited with 1", "was killed by signal 11 (...)": the end of a sentence about the program.
  std::string describe() const;
};

class Process {
 public:
  /// Starts the program in a session and process group of its own; it dies when the calling thread
  /// does. From the first one on, orphans of our children become our own children, where kill()
  /// finds them. A program that cannot be started (there is none, or the system has no room) has
  /// ended at once: see start_error().
  explicit Process(const Program& program);
  ~Process();  // kill()
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// errno if the program could not be started, else 0.
  int start_error() const { return start_error_; }

  /// Our end of the program's pipe 3 + `number`: does not block, and is closed by kill().
  int pipe(std::size_t number) const { return pipes_.at(number); }
  /// Closes it: the program sees the pipe's end.
  void close_pipe(std::size_t number);

  /// Waits until `descriptor` is ready for `events` (POLLIN or POLLOUT; the end of the pipe counts
  /// as ready), while it keeps the captured output flowing. What an ended program has left in the
  /// pipe is `ready`; `exited` comes after it.
  Waited wait(int descriptor, short events, Clock::time_point deadline);

  /// The same for the end of the program; never `ready`.
  Waited wait_for_exit(Clock::time_point deadline);

  /// From now on a wait ends when more bytes of its memory are in use; 0: any number.
  void limit_memory(std::uint64_t bytes) { most_memory_ = bytes; }

  /// Sends it a signal, unless it has ended.
  void send(int signal);

  /// How it ended; nothing while it runs, and if it could not be started.
  std::optional<Exit> exit() const { return exit_; }

  /// Ends the program, its group and whatever they left behind, those that left the group too. May
  /// be called again. Does not throw.
  void kill();

  /// The end of a run of which the last wait came to `waited`: if the program has not ended, asks
  /// it to (SIGTERM), which gives a compiler the moment that it needs to tidy up; then kill().
  Result end(Waited waited);

  /// What it printed since the last call, at most Program::most_output of it.
  std::string take_output();

 private:
  bool has_exited();
  std::optional<Waited> exceeds();
  void watch(int descriptor, short events, short& found, std::chrono::milliseconds most);
  bool exits_by(Clock::time_point deadline);
  void drain_output();

  std::size_t most_output_;
  long most_tasks_;
  std::uint64_t most_memory_ = 0;  // that it may take
  std::uint64_t memory_seen_ = 0;  // the most
  Clock::time_point next_look_ = {};
  int start_error_ = 0;
  pid_t pid_ = -1;
  int pidfd_ = -1;  // -1 where the kernel has none: then we look every few milliseconds
  int output_pipe_ = -1;
  std::vector<int> pipes_;
  std::string output_;
  std::optional<Exit> exit_;
};

/// Runs a program to its end, `seconds` at most. A program that cannot be started is `not_started`.
Result run(const Program& program, double seconds);

/// The time point `seconds` from now.
Clock::time_point after(double seconds);

}  // namespace onepass::process
