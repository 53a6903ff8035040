// A worker program, started and spoken to as the deciding process does it, without the defences.
#pragma once

#include <string>

#include "process/process.h"
#include "worker/protocol.h"

namespace onepass::worker {

class WorkerProgram {
 public:
  explicit WorkerProgram(const std::string& path);

  /// Sends a request and waits for its reply, a minute at most.
  Transfer ask(const Message& request, Message& reply);

  /// Closes the pipe for requests and waits for the end, which Result::describe() tells.
  std::string finish();

 private:
  process::Process process_;
};

}  // namespace onepass::worker
