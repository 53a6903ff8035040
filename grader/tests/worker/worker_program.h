// A worker program, started and spoken to as the deciding process does it, without the defences.
#pragma once

#include <string>

#include "worker/protocol.h"

namespace onepass::worker {

class WorkerProgram {
 public:
  explicit WorkerProgram(const std::string& path);
  ~WorkerProgram();
  WorkerProgram(const WorkerProgram&) = delete;
  WorkerProgram& operator=(const WorkerProgram&) = delete;

  /// Sends a request and waits for its reply, a minute at most.
  Transfer ask(const Message& request, Message& reply);

  /// Closes the pipes and waits for the end. Returns the exit status, 128 + n after signal n.
  int finish();

 private:
  void close_pipes();

  int requests_ = -1;
  int replies_ = -1;
  int process_ = -1;
};

}  // namespace onepass::worker
