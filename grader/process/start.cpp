#include "process/start.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>

namespace onepass::process {
namespace {

/// As exec takes them, with a null pointer at the end.
std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> result;
  for (const std::string& word : words) {
    result.push_back(const_cast<char*>(word.c_str()));
  }
  result.push_back(nullptr);
  return result;
}

/// What the program gives anew, and what it inherits besides.
std::vector<char*> environment_of(const Program& program) {
  std::vector<char*> variables = pointers(program.environment);
  variables.pop_back();
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view whole = *variable;
    const std::string_view name = whole.substr(0, whole.find('=') + 1);
    const bool anew =
        std::any_of(program.environment.begin(), program.environment.end(),
                    [&](const std::string& given) { return given.rfind(name, 0) == 0; });
    if (!anew && (!program.allowance || keeps(*program.allowance, whole))) {
      variables.push_back(*variable);
    }
  }
  variables.push_back(nullptr);
  return variables;
}

/// `ends` become 0, 1, ...; all others are closed, the last of them by exec. Returns errno, and
/// leaves the last one as it is then.
int arrange(const std::vector<int>& ends, std::vector<int>& aside) {
  const int count = static_cast<int>(ends.size());
  // First out of the way, then into place: a pipe's end may happen to be one of the places.
  for (int place = 0; place < count; ++place) {
    aside[place] = fcntl(ends[place], F_DUPFD_CLOEXEC, count);
    if (aside[place] < 0) {
      return errno;
    }
  }
  for (int place = 0; place < count; ++place) {
    dup2(aside[place], place);
  }
  fcntl(count - 1, F_SETFD, FD_CLOEXEC);
  if (syscall(SYS_close_range, static_cast<unsigned>(count), ~0u, 0u) != 0) {  // before Linux 5.9
    for (int descriptor = count; descriptor < 1024; ++descriptor) {
      close(descriptor);
    }
  }
  return 0;
}

/// In the child: becomes the program, or tells the last of the ends why not. Does only what is safe
/// between fork and exec.
[[noreturn]] void become(char* const* words, char* const* environment, const std::vector<int>& ends,
                         std::vector<int>& aside, Confinement* confinement) {
  setsid();
  signal(SIGPIPE, SIG_DFL);  // which we may ignore
  signal(SIGXFSZ, SIG_DFL);
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // the program does not outlive who started it
  int failure = ends.back();
  int error = confinement != nullptr ? confinement->enter() : 0;
  error = error != 0 ? error : arrange(ends, aside);
  if (error == 0) {
    failure = static_cast<int>(ends.size()) - 1;
    if (confinement != nullptr) {
      execve(confinement->words()[0], confinement->words(), environment);
    } else {
      execvpe(words[0], words, environment);
    }
    error = errno;
  }
  [[maybe_unused]] const ssize_t written = write(failure, &error, sizeof error);
  _exit(127);
}

}  // namespace

void close_if_open(int& descriptor) {
  if (descriptor >= 0) {
    close(descriptor);
    descriptor = -1;
  }
}

Ends::Ends(Pipe direction) {
  std::array<int, 2> ends = {-1, -1};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    error_ = errno;
  }
  ours_ = ends[direction == Pipe::to_program ? 1 : 0];
  theirs_ = ends[direction == Pipe::to_program ? 0 : 1];
}

Ends::Ends(Ends&& other) noexcept
    : ours_(std::exchange(other.ours_, -1)),
      theirs_(std::exchange(other.theirs_, -1)),
      error_(other.error_) {}

Ends::~Ends() {
  close_if_open(ours_);
  close_if_open(theirs_);
}

int Ends::take() {
  close_if_open(theirs_);
  fcntl(ours_, F_SETFL, O_NONBLOCK);
  return std::exchange(ours_, -1);
}

int Ends::read_number() {
  close_if_open(theirs_);
  int number = 0;
  while (read(ours_, &number, sizeof number) < 0 && errno == EINTR) {
  }
  return number;
}

Start::Start(const Program& program)
    : nothing_(open("/dev/null", O_RDONLY | O_CLOEXEC)),
      words_(pointers(program.command)),
      environment_(environment_of(program)) {
  error_ = program.command.empty() ? EINVAL : nothing_ < 0 ? errno : 0;
  pipes_.emplace_back(Pipe::from_program);
  ends_ = {nothing_, pipes_[0].theirs(), pipes_[0].theirs()};
  for (const Pipe direction : program.pipes) {
    ends_.push_back(pipes_.emplace_back(direction).theirs());
  }
  ends_.push_back(pipes_.emplace_back(Pipe::from_program).theirs());
  aside_.resize(ends_.size());
  for (const Ends& pipe : pipes_) {
    error_ = std::max(error_, pipe.error());
  }
  try {
    if (program.allowance && error_ == 0) {
      confinement_ = std::make_unique<Confinement>(*program.allowance, program.command);
    }
  } catch (const std::system_error& refused) {
    error_ = refused.code().value();
  }
}

Start::~Start() {
  close_if_open(nothing_);
}

pid_t Start::fork() {
  if (error_ != 0) {
    return -1;
  }
  const pid_t child = ::fork();
  if (child == 0) {
    become(words_.data(), environment_.data(), ends_, aside_, confinement_.get());
  }
  error_ = child < 0 ? errno : 0;
  return child;
}

int Start::take_output() {
  return pipes_.front().take();
}

std::vector<int> Start::take_pipes() {
  std::vector<int> taken;
  for (std::size_t i = 1; i + 1 < pipes_.size(); ++i) {
    taken.push_back(pipes_[i].take());
  }
  return taken;
}

int Start::wait_for_exec() {
  return error_ != 0 ? error_ : pipes_.back().read_number();
}

}  // namespace onepass::process
