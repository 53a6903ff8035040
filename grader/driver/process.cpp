#include "driver/process.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>

#include "driver/bad_input.h"
#include "driver/interrupt.h"

namespace onepass::driver {
namespace {

using Clock = std::chrono::steady_clock;
using End = ProcessResult::End;

constexpr int kMessages = 3;  // the descriptor of kMessagePipe
constexpr std::size_t kMostMessages = std::size_t{1} << 30;

// What the child does between fork and exec: only calls that are safe there.
[[noreturn]] void become(char* const* arguments, int output, int messages, int exec_failed) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // a driver that is killed leaves no children
  const int null = open("/dev/null", O_RDONLY);
  dup2(null, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  if (messages == kMessages) {
    fcntl(kMessages, F_SETFD, 0);  // it is in its place: only keep it open
  } else if (messages >= 0) {
    exec_failed = exec_failed == kMessages ? fcntl(exec_failed, F_DUPFD_CLOEXEC, 16) : exec_failed;
    dup2(messages, kMessages);
  }
  execvp(arguments[0], arguments);
  const int error = errno;
  (void)!write(exec_failed, &error, sizeof error);
  _exit(127);
}

// Reads what is there without waiting. False at the end of the stream.
bool drain(int fd, std::string& output, std::size_t limit) {
  char buffer[4096];
  for (;;) {
    const ssize_t count = read(fd, buffer, sizeof buffer);
    if (count > 0) {
      const std::size_t room = limit - std::min(limit, output.size());
      output.append(buffer, std::min<std::size_t>(room, count));
    } else {
      return count < 0 && (errno == EAGAIN || errno == EINTR);
    }
  }
}

struct Child {
  pid_t pid = -1;
  int output = -1;    // our end of its stdout and stderr, not blocking
  int messages = -1;  // and of the pipe for messages, if it has one
};

// Starts the program; on failure `result` says why and pid stays -1.
Child start(const std::vector<std::string>& arguments, bool with_messages, ProcessResult& result) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) {
    argv.push_back(const_cast<char*>(argument.c_str()));
  }
  argv.push_back(nullptr);

  int output[2];
  int exec_failed[2];
  int messages[2] = {-1, -1};
  if (pipe2(output, O_CLOEXEC) != 0 || pipe2(exec_failed, O_CLOEXEC) != 0 ||
      (with_messages && pipe2(messages, O_CLOEXEC) != 0)) {
    throw GraderFault(fmt::format("Cannot make a pipe: {}.", strerror(errno)));
  }
  Child child;
  child.pid = fork();
  if (child.pid < 0) {
    throw GraderFault(fmt::format("Cannot start a process: {}.", strerror(errno)));
  }
  if (child.pid == 0) {
    become(argv.data(), output[1], messages[1], exec_failed[1]);
  }
  setpgid(child.pid, child.pid);  // also here: whoever comes first
  close(output[1]);
  if (with_messages) {
    close(messages[1]);
    fcntl(messages[0], F_SETFL, O_NONBLOCK);
    child.messages = messages[0];
  }
  close(exec_failed[1]);
  int error = 0;
  if (read(exec_failed[0], &error, sizeof error) > 0) {
    waitpid(child.pid, nullptr, 0);
    result.code = error;
    child.pid = -1;
  }
  close(exec_failed[0]);
  fcntl(output[0], F_SETFL, O_NONBLOCK);
  child.output = output[0];
  return child;
}

void note_end(ProcessResult& result, int status) {
  if (result.end == End::not_started) {
    result.end = WIFEXITED(status) ? End::exited : End::signalled;
    result.code = WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);
  }
}

}  // namespace

std::string ProcessResult::describe() const {
  switch (end) {
    case End::exited:
      return fmt::format("exited with {}", code);
    case End::signalled:
      return fmt::format("was killed by signal {} ({})", code, strsignal(code));
    case End::timed_out:
      return "did not end in time";
    case End::interrupted:
      return "was interrupted";
    case End::not_started:
      return fmt::format("could not be started ({})", strerror(code));
  }
  return "";
}

ProcessResult run_process(const std::vector<std::string>& arguments, const ProcessLimits& limits,
                          const MessageReader& read_messages) {
  ProcessResult result;
  Child child = start(arguments, read_messages != nullptr, result);
  const auto close_pipes = [&] {
    close(child.output);
    if (child.messages >= 0) {
      close(child.messages);
    }
  };
  if (child.pid < 0) {
    close_pipes();
    return result;
  }
  const auto deadline = Clock::now() + std::chrono::duration<double>(limits.seconds);
  bool telling = read_messages != nullptr;
  const auto pass_messages_on = [&] {
    std::string piece;
    telling = telling && drain(child.messages, piece, kMostMessages);
    return read_messages(piece);
  };
  bool open = true;
  int status = 0;
  for (;;) {
    // With both pipes at their end, only that of the process is left: look for it often.
    pollfd waiting[] = {{open ? child.output : -1, POLLIN, 0},
                        {telling ? child.messages : -1, POLLIN, 0}};
    poll(waiting, 2, open || telling ? 50 : 2);
    open = open && drain(child.output, result.output, limits.output_bytes);
    if (waitpid(child.pid, &status, WNOHANG) == child.pid) {
      break;
    }
    const bool go_on = !read_messages || pass_messages_on();
    if (interrupted() || !go_on || Clock::now() >= deadline) {
      result.end = interrupted() ? End::interrupted : End::timed_out;
      kill(-child.pid, SIGTERM);  // a moment to kill children in groups of their own
      for (int wait = 0; wait < 100 && waitpid(child.pid, &status, WNOHANG) == 0; ++wait) {
        usleep(5000);
      }
      break;
    }
  }
  kill(-child.pid, SIGKILL);
  if (result.end != End::not_started) {
    waitpid(child.pid, &status, 0);  // fails at once if it has been waited for
  }
  drain(child.output, result.output, limits.output_bytes);
  if (read_messages) {
    pass_messages_on();
  }
  close_pipes();
  note_end(result, status);
  return result;
}

}  // namespace onepass::driver
