#include "verdict/worker/worker_client.h"

#include <fmt/format.h>
#include <signal.h>
#include <string.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "verdict/worker/allowance.h"
#include "verdict/worker/messages.h"
#include "wire/json.h"

namespace onepass::verdict {
namespace {

using nlohmann::json;
using process::Clock;
using process::Exit;
using process::Waited;

constexpr double kClockPerLimit = 3.0;  // the machine may be busy; the simulator counts CPU time
constexpr double kLeastClock = 1.5;     // seconds: findings take time too
constexpr double kStartCpu = 15.0;      // seconds in which a worker must have said hello
constexpr double kStartGpu = 60.0;      // where a driver may have to wake up
constexpr std::uint64_t kCopies = 4;    // of a call's numbers that a worker may make
constexpr double kLoadSeconds = 10.0;
constexpr std::uint64_t kMuch = std::uint64_t{1} << 30;  // bytes, far more than an honest one takes
constexpr int kNotLoaded = 127;  // the exit code of the loader, and of who could not start it
constexpr std::size_t kRequests = 0, kReplies = 1;  // its pipes

Reply failure(Outcome outcome, std::string error) {
  return {{outcome, std::move(error)}, {}};
}

process::Program program_of(const std::string& worker, const std::string& device) {
  using process::Pipe;
  process::Program program{
      {worker}, {Pipe::to_program, Pipe::from_program}, kMostOutput, most_tasks(device)};
  program.allowance = allowance_of(worker, device);
  return program;
}

Reply nonsense() {
  return failure(Outcome::ended_early,
                 "What came back is no answer. Descriptor 4 belongs to the grader.");
}

Request request_of(const Case& call, const Turn& turn) {
  Request request = request_of(call, turn.poison);
  request.call.block_order = turn.order;
  request.call.order_seed = turn.order_seed;
  request.call.most_blocks = turn.most_blocks;
  request.call.most_accesses = turn.most_accesses;
  return request;
}

}  // namespace

Reply WorkerClient::hello() {
  if (process_) {
    return {};
  }
  if (const std::string obstacle = obstacle_to(expected_device_); !obstacle.empty()) {
    return failure(Outcome::grader_fault, obstacle);
  }
  process_ = std::make_unique<process::Process>(program_of(worker_, expected_device_));
  if (const int error = process_->start_error(); error != 0) {
    stop();
    return failure(Outcome::grader_fault,
                   fmt::format("{} could not be started: {}.", worker_, strerror(error)));
  }
  worker::prepare_descriptor(process_->pipe(kRequests));
  worker::prepare_descriptor(process_->pipe(kReplies));
  const double limit = expected_device_ == "gpu" ? kStartGpu : kStartCpu;
  Reply reply = exchange(worker::message_of("hello", worker::kProtocolVersion), limit, {});
  if (reply.outcome == Outcome::ok) {
    try {
      device_ = wire::read<wire::DeviceFacts>(reply.message.body.at("content"));
    } catch (const std::exception&) {
      device_ = {};
    }
    if (device_.kind != expected_device_) {
      stop();
      return nonsense();
    }
  } else if (const std::string reason =
                 reply.outcome == Outcome::ended_early ? why_not_loaded() : "";
             !reason.empty()) {
    return failure(Outcome::grader_fault, reason);
  }
  return reply;
}

/// Asked of one that has ended before it said hello. The loader tells what it needs without running
/// it. Empty if it finds everything: then the worker's own code has ended it.
std::string WorkerClient::why_not_loaded() const {
  process::Program loader = program_of(worker_, expected_device_);
  const std::string path = loader_of(*loader.allowance);
  if (path.empty()) {
    return "";
  }
  loader.command = {path, "--list", worker_};
  const process::Result result = process::run(loader, kLoadSeconds);
  return result.succeeded() ? "" : fmt::format("{} cannot be loaded: {}", worker_, result.output);
}

Reply WorkerClient::describe_exit(const Exit& exit) const {
  if (!exit.by_signal) {
    return failure(
        Outcome::ended_early,
        fmt::format("The program called exit({}) before the function returned.", exit.number));
  }
  const char* name = sigabbrev_np(exit.number);
  const std::string signal =
      name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", exit.number);
  if (exit.number != SIGKILL || exit.cpu_seconds >= kCpuSeconds) {
    return failure(Outcome::crashed, fmt::format("The program was ended by {}.", signal));
  }
  // It cannot have done this to itself.
  if (exit.memory >= kMuch) {
    return failure(Outcome::crashed,
                   fmt::format("The program was ended by {} when it had taken {:.1f} GB of memory: "
                               "the machine had no more.",
                               signal, static_cast<double>(exit.memory) * 1e-9));
  }
  return failure(
      Outcome::grader_fault,
      fmt::format("The worker was ended by {} from outside. The machine may have run out "
                  "of memory.",
                  signal));
}

Run WorkerClient::run(const Case& call, const Turn& turn, double time_limit, bool lines) {
  Request request = request_of(call, turn);
  request.call.lines = lines;
  return carry_out(std::move(request), call, turn.poison, time_limit);
}

Run WorkerClient::run_both(const Case& call, const Case& beside, const Turn& turn,
                           double time_limit) {
  Request request = request_of(call, turn);
  add_beside(request, beside, turn.poison);
  return carry_out(std::move(request), call, turn.poison, time_limit, &beside);
}

Run WorkerClient::trace(const Case& call, std::size_t most, double time_limit) {
  Request request = request_of(call, Poison::nan);
  request.call.trace = static_cast<std::int64_t>(most);
  return carry_out(std::move(request), call, Poison::nan, time_limit);
}

Run WorkerClient::carry_out(Request asked, const Case& call, Poison poison, double time_limit,
                            const Case* beside) {
  asked.call.time_limit_s = time_limit;
  Run run;
  const Read read = [&](const worker::Message& message) -> wire::Ending {
    run = read_run(call, poison, message, beside);
    return run;
  };
  worker::Limits limits = reply_limits(call);
  if (beside != nullptr) {
    const worker::Limits more = reply_limits(*beside);
    limits.blobs += more.blobs;
    limits.blob_bytes += more.blob_bytes;
  }
  most_memory_ = most_memory(expected_device_) + kCopies * limits.blob_bytes;
  const Reply reply = request(message_of("run", std::move(asked)),
                              std::max(kLeastClock, kClockPerLimit * time_limit), limits, read);
  static_cast<wire::Ending&>(run) = reply;
  has_answered_ = has_answered_ || reply.outcome == Outcome::ok;
  run.output = take_output();
  return run;
}

Reply WorkerClient::prepare(const Case& call, int sets, double time_limit) {
  Request asked = request_of(call, Poison::nan);
  asked.call.sets = sets;
  const Read read = [](const worker::Message& message) {
    return wire::read<wire::Ending>(message.body.at("content"));
  };
  return request(message_of("prepare", std::move(asked)), time_limit, {}, read);
}

wire::Sampled WorkerClient::sample(int count, int warmup, double time_limit) {
  wire::Sampled sampled;
  const Read read = [&](const worker::Message& message) {
    sampled = wire::read<wire::Sampled>(message.body.at("content"));
    return sampled.ending;
  };
  sampled.ending =
      request(worker::message_of("sample", wire::SampleOrder{count, warmup}), time_limit, {}, read);
  return sampled;
}

Reply WorkerClient::fetch(const std::vector<std::int64_t>& rows, double time_limit) {
  return request(worker::message_of("fetch", wire::FetchOrder{rows}), time_limit, {}, nullptr);
}

Reply WorkerClient::release(double time_limit) {
  return request(worker::message_of("release", nullptr), time_limit, {}, nullptr);
}

std::string WorkerClient::take_output() {
  if (process_) {
    last_output_ += process_->take_output();
  }
  return std::exchange(last_output_, {});
}

void WorkerClient::stop() {
  if (process_) {
    process_->kill();
    last_output_ += process_->take_output();
    process_.reset();
  }
  has_answered_ = false;
}

Reply WorkerClient::request(worker::Message message, double seconds, const worker::Limits& limits,
                            const Read& read) {
  Reply reply = hello();
  if (reply.outcome == Outcome::ok) {
    reply = exchange(std::move(message), seconds, limits);
  }
  if (reply.outcome != Outcome::ok || !read) {
    return reply;
  }
  try {
    static_cast<wire::Ending&>(reply) = read(reply.message);
  } catch (const std::exception&) {
    reply = nonsense();
  }
  if (reply.outcome != Outcome::ok) {
    stop();
  }
  return reply;
}

Reply WorkerClient::exchange(worker::Message message, double seconds,
                             const worker::Limits& limits) {
  // The reply repeats the id: one that was written twice, or ahead, is not taken for the next.
  const std::uint64_t id = ++last_id_;
  message.body["id"] = id;
  const Clock::time_point deadline = process::after(seconds);
  Waited waited = Waited::ready;
  const worker::Wait wait = [&](int descriptor, short events) {
    waited = process_->wait(descriptor, events, deadline);
    return waited == Waited::ready;
  };
  process_->limit_memory(most_memory_);
  Reply reply;
  worker::Transfer transfer = worker::write_message(process_->pipe(kRequests), message, wait);
  if (transfer == worker::Transfer::done) {
    transfer = worker::read_message(process_->pipe(kReplies), reply.message, limits, wait);
  }
  if (transfer != worker::Transfer::done) {
    return lost(transfer, waited, deadline, seconds);
  }
  const json& body = reply.message.body;
  const json operation = body.value("op", json());
  if (body.value("id", json()) != json(id) || !operation.is_string() || !body.contains("content")) {
    stop();
    return nonsense();
  }
  if (operation == "refused" || operation == "unavailable") {
    stop();
    const json& reason = body.at("content");
    return failure(Outcome::refused,
                   reason.is_string() ? reason.get<std::string>() : "The worker gives no reason.");
  }
  return reply;
}

/// A request that got no whole reply: why?
Reply WorkerClient::lost(worker::Transfer transfer, Waited waited, Clock::time_point deadline,
                         double seconds) {
  using worker::Transfer;
  // A closed pipe is most often the first sign of a process that is about to be gone.
  const bool closed = transfer == Transfer::closed || transfer == Transfer::truncated;
  const Clock::time_point patience = closed ? process::after(0.5) : Clock::now();
  process_->wait_for_exit(std::min(patience, deadline));
  const std::optional<Exit> exit = process_->exit();
  stop();
  if (waited == Waited::too_many_tasks) {
    return failure(Outcome::ended_early,
                   fmt::format("The program started more than {} threads or processes.",
                               most_tasks(expected_device_)));
  }
  if (waited == Waited::too_much_memory) {
    return failure(Outcome::ended_early,
                   fmt::format("The program took more than {:.1f} GB of this computer's memory.",
                               static_cast<double>(most_memory_) * 1e-9));
  }
  if (transfer == Transfer::malformed || transfer == Transfer::too_large) {
    return nonsense();
  }
  if (exit) {
    return describe_exit(*exit);
  }
  if (closed) {
    return failure(Outcome::ended_early,
                   "The program closed descriptor 3 or 4, which belong to the grader.");
  }
  if (transfer == Transfer::gave_up) {
    return failure(Outcome::timed_out, fmt::format("No answer within {:g} seconds.", seconds));
  }
  return failure(Outcome::grader_fault, worker::describe(transfer));
}

}  // namespace onepass::verdict
