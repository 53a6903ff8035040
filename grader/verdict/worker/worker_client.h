// WorkerClient: speaks the worker's protocol (worker/protocol.h) and gives whatever may happen to a
// worker a name. A worker that failed is not used again: the next request starts a fresh one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "process/process.h"
#include "verdict/case.h"
#include "verdict/worker/finding.h"
#include "verdict/worker/launch_traffic.h"
#include "worker/protocol.h"

namespace onepass::verdict {

/// Bytes that are kept of what a worker prints.
constexpr std::size_t kMostOutput = 64 << 10;

/// The share of a GPU's memory that a call may take: the driver and the screen need some.
constexpr double kUsableMemory = 0.9;

enum class Outcome {
  ok,
  launch_error,   // a launch was refused; `error` is CUDA's name and words for it
  device_error,   // a kernel failed while it ran
  out_of_memory,  // of the device
  crashed,        // ended by a signal
  timed_out,
  ended_early,   // exited, closed its pipes or answered nonsense
  grader_fault,  // refused, unavailable, not to be started: never the student's fault
};

/// Reply to any request. The message is only there if `outcome` is ok.
struct Reply {
  Outcome outcome = Outcome::ok;
  std::string error;  // a sentence or two if the outcome is not ok
  worker::Message message;
};

/// A buffer that was touched where it must not be.
struct Trespass {
  std::string buffer;
  std::string
      where;  // "between the end of row 3 and the start of row 4", "2 elements after its end"
};

/// What became of one call of the student's function.
struct Run {
  Outcome outcome = Outcome::ok;
  std::string error;
  std::vector<Finding> findings;  // of the simulator, whatever the outcome
  std::vector<LaunchTraffic> traffic;
  std::vector<Trespass> trespasses;
  Answer answer;       // if the outcome is ok
  std::string output;  // what the student's code printed
};

/// A call, and every request that its warps made.
struct TracedRun {
  Run run;
  nlohmann::json launches = nlohmann::json::array();  // see trace.h; empty if none was told
};

struct TimedCalls {
  Outcome outcome = Outcome::ok;
  std::string error;
  std::vector<double> milliseconds;
  std::uint64_t generation = 0;  // of the contents of the last call, see protocol.h
};

class WorkerClient {
 public:
  /// start_limit: seconds in which a worker must have said hello; a GPU's driver may have to wake
  /// up.
  explicit WorkerClient(std::vector<std::string> command, double start_limit = 60.0)
      : command_(std::move(command)), start_limit_(start_limit) {}

  /// Starts a worker if none is there and has it introduce itself: device and functions.
  Reply hello();
  /// The device as the last hello() told it; null before.
  const nlohmann::json& device() const { return device_; }

  /// One call. time_limit: seconds that the simulator gives each launch; the whole call may take
  /// three times as long by the clock of this process, and is killed then.
  /// lines: count the traffic by line of source too, on the simulator.
  Run run(const Case& call, Poison poison, double time_limit, bool lines = false);

  /// The same on the simulator, with the first `most` requests of each launch.
  TracedRun trace(const Case& call, std::size_t most, double time_limit);

  /// Buffers for timing, timed calls, rows of the last one (blobs in the order of the case's
  /// buffers, see protocol.h).
  Reply prepare(const Case& call, int sets, double time_limit);
  TimedCalls sample(int count, int warmup, double time_limit);
  Reply fetch(const std::vector<std::int64_t>& rows, double time_limit);
  Reply release(double time_limit);

  /// What the worker printed since the last call of run() or this.
  std::string take_output();
  /// Ends the worker, if there is one.
  void stop();

 private:
  Run carry_out(worker::Message message, const Case& call, Poison poison, double time_limit,
                nlohmann::json* launches);
  Reply request(worker::Message message, double seconds, const worker::Limits& limits);
  Reply exchange(worker::Message message, double seconds, const worker::Limits& limits);
  Reply lost(worker::Transfer transfer, process::Waited waited, process::Clock::time_point deadline,
             double seconds);

  std::vector<std::string> command_;
  double start_limit_;
  std::unique_ptr<process::Process> process_;
  std::uint64_t last_id_ = 0;
  std::string last_output_;
  nlohmann::json device_;
};

}  // namespace onepass::verdict
