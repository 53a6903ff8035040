// WorkerClient: speaks the worker's protocol (worker/protocol.h) and gives whatever may happen to a
// worker a name. A worker that failed is not used again: the next request starts a fresh one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "process/process.h"
#include "verdict/case.h"
#include "verdict/worker/allowance.h"
#include "verdict/worker/finding.h"
#include "wire/messages.h"
#include "worker/protocol.h"

namespace onepass::verdict {

/// Bytes that are kept of what a worker prints.
constexpr std::size_t kMostOutput = 64 << 10;

/// The share of a GPU's memory that a call may take: the driver and the screen need some.
constexpr double kUsableMemory = 0.9;

using simulator::AccessType;
using simulator::LaunchTraffic;
using simulator::LineTraffic;
using simulator::MemorySpace;
using wire::Outcome;

/// Reply to any request. The message is only there if `outcome` is ok.
struct Reply : wire::Ending {  // with a sentence or two if the outcome is not ok
  worker::Message message;
  bool from_outside = false;  // the worker was ended by what it cannot do to itself
};

/// A buffer that was touched where it must not be.
struct Trespass {
  std::string buffer;
  std::string where;  // "2 elements after its last"
};

/// What became of one call of the student's function, and what the simulator saw of it, whatever
/// the outcome.
struct Run : wire::Observations, wire::Ending {
  std::vector<Trespass> trespasses;
  Answer answer;       // if the outcome is ok
  Answer beside;       // of the call beside it
  std::string output;  // what the student's code printed
};

/// What calls of one case may differ in. Poison and order may not change the result.
struct Turn {
  Poison poison = Poison::nan;
  simulator::BlockOrder order = simulator::BlockOrder::rising;  // on the simulator
  std::uint64_t order_seed = 0;                                 // of a shuffled one
  std::uint64_t most_blocks = 0;    // a sample of each launch, on the simulator; 0: all run
  std::uint64_t most_accesses = 0;  // likewise
  bool no_launches = false;         // likewise: each is refused
};

struct Request;

class WorkerClient {
 public:
  /// device: "cpu" or "gpu", what it was built for.
  explicit WorkerClient(std::string worker, const std::string& device = "cpu")
      : WorkerClient(std::move(worker), device, most_memory(device)) {}
  /// may_take: bytes of memory besides a call's numbers.
  WorkerClient(std::string worker, std::string device, std::uint64_t may_take)
      : worker_(std::move(worker)), expected_device_(std::move(device)), may_take_(may_take) {}

  /// Starts a worker if none is there, and does not wait until it answers: several that begin
  /// together wake up a GPU's driver at the same time.
  void begin();
  /// Starts a worker if none is there and has it tell its device.
  Reply hello();
  /// The device as the last hello() told it; its kind is "" before.
  const wire::DeviceFacts& device() const { return device_; }

  /// One call. time_limit: seconds that the simulator gives each launch; the whole call may take
  /// three times as long by the clock of this process, or 1.5 seconds, and is killed then.
  /// lines: count the traffic by line of source too, on the simulator.
  /// The first that is, is asked once more, of a fresh worker.
  Run run(const Case& call, const Turn& turn, double time_limit, bool lines = false);

  /// Two calls of one function and type on two streams, whose work may run at the same time.
  Run run_both(const Case& call, const Case& beside, const Turn& turn, double time_limit);

  /// The same on the simulator, with the first `most` requests of each launch.
  Run trace(const Case& call, std::size_t most, double time_limit, const Turn& turn = {});

  /// What these calls of one function and type launch on the simulator, without running it. Nothing
  /// if that does not go well.
  struct Launchers {
    bool crashed = false;  // one of them did, and none has answered
    std::vector<wire::Launched> answers;
  };
  Launchers ask(const std::vector<Case>& calls, double time_limit);

  /// Buffers for timing, timed calls, rows of the last one: [FetchedBuffer], see protocol.h.
  Reply prepare(const Case& call, int sets, double time_limit);
  wire::Sampled sample(int count, int warmup, double time_limit);
  Reply fetch(const std::vector<std::int64_t>& rows, double time_limit);
  Reply release(double time_limit);

  /// The next workers' calls run on this device, if it is the simulator. Ends the worker that is
  /// there, for code may keep what a device has told.
  void change_device(const wire::OtherDevice& device);

  /// What the worker printed since the last call of run() or this.
  std::string take_output();
  /// Ends the worker, if there is one.
  void stop();
  /// Has the worker that is there come to the end of a call?
  bool has_answered() const { return has_answered_; }

 private:
  /// Takes a reply apart and gives the ending that it tells. Any but `ok`, or a reply that is none
  /// (an exception), is the end of the worker.
  using Read = std::function<wire::Ending(const worker::Message&)>;

  Run carry_out(Request request, const Case& call, Poison poison, double time_limit,
                const Case* beside = nullptr);
  Reply start();
  Reply request(worker::Message& message, double seconds, const worker::Limits& limits,
                const Read& read);
  Reply exchange(worker::Message& message, double seconds, const worker::Limits& limits);
  bool answers_late(worker::Message& message, const worker::Limits& limits);
  // worker_end.cpp
  Reply not_started(int error) const;
  Reply lost(worker::Transfer transfer, process::Waited waited, process::Clock::time_point deadline,
             double seconds);
  std::string why_not_loaded() const;

  std::string worker_;
  std::string expected_device_;
  std::uint64_t may_take_;
  std::uint64_t most_memory_ = may_take_;  // with the call's numbers
  std::unique_ptr<process::Process> process_;
  wire::OtherDevice other_device_;
  bool has_told_device_ = false;
  bool has_answered_ = false;
  bool is_slow_ = false;  // it ran out of time twice in a row
  std::uint64_t last_id_ = 0;
  std::string last_output_;
  wire::DeviceFacts device_;
};

}  // namespace onepass::verdict
