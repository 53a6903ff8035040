#include "process/process.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <utility>

#include "process/guard.h"
#include "process/interrupt.h"
#include "process/process_tree.h"
#include "process/start.h"

namespace onepass::process {
namespace {

using std::chrono::milliseconds;

// More than at the start on the whole machine: time to count the program's processes.
constexpr long kSuspiciousTasks = 500;
constexpr milliseconds kLook(20);
constexpr milliseconds kTimeToTidyUp(500);
constexpr std::chrono::seconds kTimeToDie(30);  // a driver of a device may take long to clean up

/// Children that are not to be taken for orphans of an ended program: the programs that run now,
/// and what was there before the first of them, since a shell may have become this process.
struct Known {
  std::mutex mutex;
  std::vector<pid_t> pids = children();
  long tasks_at_start = tasks_on_machine();

  Known() { prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); }
};

Known& known() {
  static Known known;
  return known;
}

}  // namespace

std::string Result::describe() const {
  switch (end) {
    case End::exited:
      return "exited with " + std::to_string(code);
    case End::signalled:
      return "was killed by signal " + std::to_string(code) + " (" + strsignal(code) + ")";
    case End::timed_out:
      return "did not end in time";
    case End::interrupted:
      return "was interrupted";
    case End::not_started:
      return std::string("could not be started (") + strerror(code) + ")";
  }
  return "";
}

Process::Process(const Program& program)
    : most_output_(program.most_output), most_tasks_(program.most_tasks) {
  Start start(program);
  {
    const std::lock_guard lock(known().mutex);
    pid_ = start.fork();
    if (pid_ > 0) {
      guard_session(pid_);
      known().pids.push_back(pid_);
      pidfd_ = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
    }
  }
  output_pipe_ = start.take_output();
  pipes_ = start.take_pipes();
  start_error_ = start.wait_for_exec();
  if (start_error_ != 0) {
    kill();
  }
}

Process::~Process() {
  kill();
}

void Process::close_pipe(std::size_t number) {
  close_if_open(pipes_.at(number));
}

/// Looks for what happens next: `found` on the descriptor, an end, output. Gives up after `most`.
void Process::watch(int descriptor, short events, short& found, milliseconds most) {
  pollfd watched[] = {{descriptor, events, 0}, {output_pipe_, POLLIN, 0}, {pidfd_, POLLIN, 0}};
  poll(watched, exit_ ? 2 : 3,
       exit_ ? 0 : static_cast<int>(std::max(most, milliseconds(0)).count()));
  found = watched[0].revents;
  drain_output();
}

Waited Process::wait(int descriptor, short events, Clock::time_point deadline) {
  while (true) {
    // An ended process may have left a whole reply in the pipe: so ask whether it has ended before
    // looking at the pipe, not after.
    const bool exited = has_exited() || start_error_ != 0;
    const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now());
    short found = 0;
    watch(descriptor, events, found, std::min(left, kLook));
    if (interrupted()) {
      return Waited::interrupted;
    }
    // Also of one that keeps the descriptor ready all the time.
    if (const std::optional<Waited> too_much = exceeds()) {
      return *too_much;
    }
    if (found != 0) {
      return Waited::ready;
    }
    if (exited) {
      return Waited::exited;
    }
    if (Clock::now() >= deadline) {
      return Waited::timed_out;
    }
  }
}

Waited Process::wait_for_exit(Clock::time_point deadline) {
  return wait(-1, 0, deadline);
}

/// Whatever happens meanwhile: for a program that has been told to end.
bool Process::exits_by(Clock::time_point deadline) {
  while (!has_exited() && Clock::now() < deadline) {
    short found = 0;
    watch(-1, 0, found, kLook);
  }
  return exit_.has_value();
}

void Process::send(int signal) {
  if (pid_ > 0 && !has_exited()) {
    ::kill(pid_, signal);
  }
}

void Process::kill() {
  if (pid_ > 0) {
    ::kill(-pid_, SIGKILL);
    ::kill(pid_, SIGKILL);  // should it not have come to setsid() yet
    exits_by(Clock::now() + kTimeToDie);
    const std::lock_guard lock(known().mutex);
    if (waitpid(pid_, nullptr, WNOHANG) == pid_) {  // else it hangs in the kernel: nobody can help
      release_session(pid_);
      std::erase(known().pids, pid_);
    }
    kill_children_except(known().pids);
    drain_output();
    pid_ = -1;
  }
  close_if_open(pidfd_);
  close_if_open(output_pipe_);
  std::for_each(pipes_.begin(), pipes_.end(), close_if_open);
}

Result Process::end(Waited waited) {
  Result result;
  if (start_error_ != 0) {
    result.code = start_error_;
  } else if (waited == Waited::exited) {
    result.end = exit_->by_signal ? Result::End::signalled : Result::End::exited;
    result.code = exit_->number;
  } else {
    result.end = waited == Waited::interrupted ? Result::End::interrupted : Result::End::timed_out;
    if (pid_ > 0) {
      ::kill(-pid_, SIGTERM);
      exits_by(Clock::now() + kTimeToTidyUp);
    }
  }
  kill();
  result.output = take_output();
  return result;
}

std::string Process::take_output() {
  drain_output();
  return std::exchange(output_, {});
}

bool Process::has_exited() {
  // The process stays unreaped until kill(), so that its number, which is also that of its group,
  // belongs to nobody else meanwhile.
  siginfo_t info{};
  rusage used{};
  if (!exit_ && pid_ > 0 &&
      syscall(SYS_waitid, P_PID, pid_, &info, WEXITED | WNOHANG | WNOWAIT, &used) == 0 &&
      info.si_pid == pid_) {
    const auto seconds = [](const timeval& time) {
      return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
    };
    exit_ = Exit{info.si_code != CLD_EXITED, info.si_status,
                 std::max(static_cast<std::uint64_t>(used.ru_maxrss) << 10, memory_seen_),
                 seconds(used.ru_utime) + seconds(used.ru_stime)};
  }
  return exit_.has_value();
}

/// Now and then: does it take more than it may, and of what?
std::optional<Waited> Process::exceeds() {
  if ((most_tasks_ == 0 && most_memory_ == 0) || Clock::now() < next_look_) {
    return std::nullopt;
  }
  next_look_ = Clock::now() + kLook;
  const Usage usage = usage_of(pid_);
  memory_seen_ = std::max(memory_seen_, usage.memory);
  const bool is_fork_bomb = tasks_on_machine() > known().tasks_at_start + kSuspiciousTasks &&
                            processes_in_session(pid_) > most_tasks_;
  if (most_tasks_ > 0 && (usage.threads > most_tasks_ || is_fork_bomb)) {
    return Waited::too_many_tasks;
  }
  return most_memory_ > 0 && usage.memory > most_memory_ ? std::optional(Waited::too_much_memory)
                                                         : std::nullopt;
}

void Process::drain_output() {
  // At most what fits into a pipe: who prints without end must not keep us from looking at the
  // clock.
  constexpr int kReads = 64;
  char text[16 << 10];
  for (int i = 0; i < kReads && output_pipe_ >= 0; ++i) {
    const ssize_t length = read(output_pipe_, text, sizeof text);
    if (length <= 0) {
      if (length == 0) {
        close_if_open(output_pipe_);  // its end; poll() would report it for ever
      }
      return;
    }
    const std::size_t room = most_output_ - output_.size();
    output_.append(text, std::min(room, static_cast<std::size_t>(length)));
  }
}

Result run(const Program& program, double seconds) {
  Process process(program);
  return process.end(process.wait_for_exit(after(seconds)));
}

Clock::time_point after(double seconds) {
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

}  // namespace onepass::process
