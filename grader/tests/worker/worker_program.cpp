#include "worker_program.h"

namespace onepass::worker {
namespace {

constexpr double kPatience = 60;  // seconds
constexpr std::size_t kRequests = 0, kReplies = 1;

}  // namespace

WorkerProgram::WorkerProgram(const std::string& path)
    : process_({{path}, {process::Pipe::to_program, process::Pipe::from_program}}) {
  prepare_descriptor(process_.pipe(kRequests));
  prepare_descriptor(process_.pipe(kReplies));
}

Transfer WorkerProgram::ask(const Message& request, Message& reply) {
  const auto deadline = process::after(kPatience);
  const Wait wait = [&](int fd, short events) {
    return process_.wait(fd, events, deadline) == process::Waited::ready;
  };
  const Transfer sent = write_message(process_.pipe(kRequests), request, wait);
  return sent == Transfer::done ? read_message(process_.pipe(kReplies), reply, {}, wait) : sent;
}

std::string WorkerProgram::finish() {
  process_.close_pipe(kRequests);
  return process_.end(process_.wait_for_exit(process::after(kPatience))).describe();
}

}  // namespace onepass::worker
