#include "verdict/worker/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "verdict/worker/confinement.h"
#include "verdict/worker/process_tree.h"
#include "worker/protocol.h"

namespace onepass::verdict {
namespace {

constexpr long kSuspiciousTasks = 500;  // more on the whole machine: time to count the worker's own
constexpr long kMostProcesses = 100;
constexpr auto kLook = std::chrono::milliseconds(20);
constexpr auto kTimeToDie = std::chrono::seconds(30);  // a driver may take long to clean up

struct Pipe {
  int read = -1;
  int write = -1;

  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
      throw std::runtime_error(std::string("no pipe to a worker: ") + std::strerror(errno));
    }
    read = ends[0];
    write = ends[1];
  }
};

void close_pipe(int& descriptor) {
  if (descriptor >= 0) {
    close(descriptor);
    descriptor = -1;
  }
}

/// Workers that run now, so that none is taken for the orphan of another.
std::vector<pid_t>& running() {
  static std::vector<pid_t> pids;
  return pids;
}

long tasks_at_start() {
  static const long tasks = tasks_on_machine();
  return tasks;
}

/// In the child: arranges descriptors, gives up rights, becomes the worker. Never returns.
/// `failure` gets errno if there is no worker to become; exec closes it otherwise.
[[noreturn]] void become_worker(const std::vector<std::string>& command, int request, int reply,
                                int output, int failure) {
  setsid();
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // the worker does not outlive its grader
  const int nothing = open("/dev/null", O_RDONLY);
  // First out of the way, then into place: a pipe's end may happen to be one of the places.
  constexpr int kAside = 16;
  constexpr int kPlaces = 6;
  const int sources[] = {nothing, output, output, request, reply, failure};
  int aside[kPlaces];
  for (int place = 0; place < kPlaces; ++place) {
    aside[place] = fcntl(sources[place], F_DUPFD, kAside);
  }
  for (int place = 0; place < kPlaces; ++place) {
    dup2(aside[place], place);
  }
  constexpr int kFailure = kPlaces - 1;
  fcntl(kFailure, F_SETFD, FD_CLOEXEC);
#ifdef SYS_close_range
  if (syscall(SYS_close_range, static_cast<unsigned>(kPlaces), ~0u, 0u) != 0)
#endif
  {
    for (int descriptor = kPlaces; descriptor < 1024; ++descriptor) {
      close(descriptor);
    }
  }
  confine();
  std::vector<char*> words;
  for (const std::string& word : command) {
    words.push_back(const_cast<char*>(word.c_str()));
  }
  words.push_back(nullptr);
  execv(words[0], words.data());
  const int error = errno;
  [[maybe_unused]] const ssize_t written = write(kFailure, &error, sizeof error);
  _exit(127);
}

int open_pidfd(pid_t pid) {
#ifdef SYS_pidfd_open
  return static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
#else
  return -1;
#endif
}

}  // namespace

std::string signal_name(int number) {
  const char* name = sigabbrev_np(number);
  return name != nullptr ? std::string("SIG") + name : "signal " + std::to_string(number);
}

Process::Process(const std::vector<std::string>& command) {
  if (command.empty() || access(command[0].c_str(), X_OK) != 0) {
    throw std::runtime_error("there is no program " + (command.empty() ? "" : command[0]));
  }
  adopt_orphans();
  tasks_at_start();
  const Pipe request;
  const Pipe reply;
  const Pipe output;
  const Pipe failure;
  pid_ = fork();
  if (pid_ == 0) {
    become_worker(command, request.read, reply.write, output.write, failure.write);
  }
  int error = pid_ < 0 ? errno : 0;
  close(failure.write);
  [[maybe_unused]] const ssize_t length = read(failure.read, &error, sizeof error);  // till exec
  close(failure.read);
  close(request.read);
  close(reply.write);
  close(output.write);
  request_ = request.write;
  reply_ = reply.read;
  output_pipe_ = output.read;
  if (pid_ > 0) {
    running().push_back(pid_);
    pidfd_ = open_pidfd(pid_);
  }
  if (error != 0) {
    kill();
    throw std::runtime_error(command[0] + " could not be started: " + std::strerror(error));
  }
  for (const int descriptor : {request_, reply_, output_pipe_}) {
    worker::prepare_descriptor(descriptor);
  }
}

Process::~Process() {
  kill();
}

bool Process::wait(int descriptor, short events, Clock::time_point deadline) {
  while (true) {
    // An ended process may have left a whole reply in the pipe: so ask whether it has ended before
    // looking at the pipe, not after.
    const bool exited = has_exited();
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    const auto pause =
        std::clamp(left, std::chrono::milliseconds(0), std::chrono::milliseconds(kLook));
    pollfd watched[] = {{descriptor, events, 0}, {output_pipe_, POLLIN, 0}, {pidfd_, POLLIN, 0}};
    poll(watched, exited ? 2 : 3, exited ? 0 : static_cast<int>(pause.count()));
    drain_output();
    if (watched[0].revents != 0) {
      return true;
    }
    if (exited || Clock::now() >= deadline) {
      return false;
    }
    if (is_fork_bomb()) {
      forked_too_much_ = true;
      return false;
    }
  }
}

std::optional<Exit> Process::wait_for_exit(Clock::time_point deadline) {
  while (!has_exited() && Clock::now() < deadline) {
    pollfd watched[] = {{output_pipe_, POLLIN, 0}, {pidfd_, POLLIN, 0}};
    poll(watched, 2, static_cast<int>(kLook.count()));
    drain_output();
  }
  return exit_;
}

void Process::kill() {
  if (pid_ > 0) {
    ::kill(-pid_, SIGKILL);
    ::kill(pid_, SIGKILL);  // should it not have come to setsid() yet
    wait_for_exit(Clock::now() + kTimeToDie);
    waitpid(pid_, nullptr, WNOHANG);
    drain_output();
    std::erase(running(), pid_);
    kill_children_except(running());
    pid_ = -1;
  }
  for (int* descriptor : {&pidfd_, &request_, &reply_, &output_pipe_}) {
    close_pipe(*descriptor);
  }
}

std::string Process::take_output() {
  drain_output();
  return std::exchange(output_, {});
}

bool Process::has_exited() {
  // The process stays unreaped until kill(), so that its number, which is also that of its group,
  // belongs to nobody else meanwhile.
  siginfo_t info{};
  if (!exit_ && pid_ > 0 &&
      waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
      info.si_pid == pid_) {
    exit_ = Exit{info.si_code != CLD_EXITED, info.si_status};
  }
  return exit_.has_value();
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
        close_pipe(output_pipe_);  // its end; poll() would report it for ever
      }
      return;
    }
    const std::size_t room = kMostOutput - output_.size();
    output_.append(text, std::min(room, static_cast<std::size_t>(length)));
  }
}

bool Process::is_fork_bomb() const {
  return tasks_on_machine() > tasks_at_start() + kSuspiciousTasks &&
         processes_in_session(pid_) > kMostProcesses;
}

}  // namespace onepass::verdict
