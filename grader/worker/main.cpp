// The worker: the process that holds the student's code. It is given inputs and gives back bytes;
// it knows no expected value and decides nothing.
//
// Requests and replies go over descriptors of their own. Standard output belongs to the student's
// code and means nothing.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "worker/session.h"

namespace {

/// Leaves without running what the student's code may have left behind for the end of the program.
[[noreturn]] void leave(int status) {
  std::fflush(nullptr);
  std::_Exit(status);
}

}  // namespace

int main() {
  using namespace onepass::worker;
  if (fcntl(kRequestDescriptor, F_GETFD) == -1 || fcntl(kReplyDescriptor, F_GETFD) == -1) {
    std::fputs("This program is a part of the grader and is started by it: run `make grade`.\n",
               stderr);
    return 2;
  }
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // what was printed before a crash is not lost
  prepare_descriptor(kRequestDescriptor);
  prepare_descriptor(kReplyDescriptor);

  const pid_t self = getpid();
  const std::unique_ptr<Device> device = make_device();
  Session session(*device);
  for (;;) {
    Message request;
    Transfer transfer = read_message(kRequestDescriptor, request);
    if (transfer == Transfer::done) {
      const Message reply = session.answer(std::move(request));
      if (getpid() != self) {
        leave(0);  // the student's code has forked; only one of the two may answer
      }
      std::fflush(nullptr);  // what the student's code printed goes before the reply
      transfer = write_message(kReplyDescriptor, reply);
    }
    if (transfer == Transfer::closed) {
      leave(0);  // the grader has what it wanted
    }
    if (transfer != Transfer::done) {
      std::fprintf(stderr, "The worker stops: %s.\n", describe(transfer).c_str());
      leave(1);
    }
  }
}
