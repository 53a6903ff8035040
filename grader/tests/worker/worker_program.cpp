#include "worker_program.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <stdexcept>

namespace onepass::worker {
namespace {

constexpr int kPatienceMs = 60'000;

/// In the child, between fork and exec. The pipes first go out of each other's way.
[[noreturn]] void become_worker(const char* path, int requests, int replies) {
  const int request_copy = fcntl(requests, F_DUPFD, 10);
  const int reply_copy = fcntl(replies, F_DUPFD, 10);
  dup2(request_copy, kRequestDescriptor);
  dup2(reply_copy, kReplyDescriptor);
  close(request_copy);
  close(reply_copy);
  execl(path, path, static_cast<char*>(nullptr));
  _exit(127);
}

}  // namespace

WorkerProgram::WorkerProgram(const std::string& path) {
  std::array<int, 2> request_pipe{};
  std::array<int, 2> reply_pipe{};
  if (pipe2(request_pipe.data(), O_CLOEXEC) != 0 || pipe2(reply_pipe.data(), O_CLOEXEC) != 0) {
    throw std::runtime_error("no pipe");
  }
  process_ = fork();
  if (process_ == 0) {
    become_worker(path.c_str(), request_pipe[0], reply_pipe[1]);
  }
  close(request_pipe[0]);
  close(reply_pipe[1]);
  requests_ = request_pipe[1];
  replies_ = reply_pipe[0];
  prepare_descriptor(requests_);
  prepare_descriptor(replies_);
}

WorkerProgram::~WorkerProgram() {
  if (process_ > 0) {
    kill(process_, SIGKILL);
    finish();
  }
}

Transfer WorkerProgram::ask(const Message& request, Message& reply) {
  const Wait a_minute = [](int fd, short events) {
    pollfd ready{fd, events, 0};
    return poll(&ready, 1, kPatienceMs) > 0;
  };
  const Transfer sent = write_message(requests_, request, a_minute);
  return sent == Transfer::done ? read_message(replies_, reply, {}, a_minute) : sent;
}

int WorkerProgram::finish() {
  close_pipes();
  int status = 0;
  waitpid(process_, &status, 0);
  process_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void WorkerProgram::close_pipes() {
  for (int* end : {&requests_, &replies_}) {
    if (*end >= 0) {
      close(*end);
      *end = -1;
    }
  }
}

}  // namespace onepass::worker
