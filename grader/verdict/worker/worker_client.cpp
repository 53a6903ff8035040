#include "verdict/worker/worker_client.h"

#include <fmt/format.h>
#include <string.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "verdict/worker/confinement.h"
#include "verdict/worker/messages.h"
#include "verdict/worker/trace.h"

namespace onepass::verdict {
namespace {

using nlohmann::json;
using process::Clock;
using process::Exit;
using process::Waited;

constexpr double kClockPerLimit = 3.0;  // the machine may be busy; the simulator counts CPU time
constexpr long kMostProcesses = 100;    // of a worker
constexpr std::size_t kRequests = 0, kReplies = 1;  // its pipes

/// A text member of a reply, or `otherwise` where it is no text: the student's code could have
/// written the reply.
std::string text_of(const json& body, const char* key, const std::string& otherwise) {
  const auto found = body.find(key);
  return found != body.end() && found->is_string() ? found->get<std::string>() : otherwise;
}

Reply failure(Outcome outcome, std::string error) {
  return {outcome, std::move(error), {}};
}

Reply nonsense() {
  return failure(Outcome::ended_early,
                 "What came back is no answer. Descriptor 4 belongs to the grader.");
}

Reply describe_exit(const Exit& exit) {
  if (!exit.by_signal) {
    return failure(
        Outcome::ended_early,
        fmt::format("The program called exit({}) before the function returned.", exit.number));
  }
  const std::string out_of_memory =
      exit.number == 9 ? " The machine may have run out of memory." : "";
  const char* name = sigabbrev_np(exit.number);
  return failure(Outcome::crashed,
                 fmt::format("The program was ended by {}.{}",
                             name != nullptr ? fmt::format("SIG{}", name)
                                             : fmt::format("signal {}", exit.number),
                             out_of_memory));
}

}  // namespace

Reply WorkerClient::hello() {
  if (process_) {
    return {};
  }
  using process::Pipe;
  process_ = std::make_unique<process::Process>(process::Program{
      command_, {Pipe::to_program, Pipe::from_program}, kMostOutput, kMostProcesses, confine});
  if (const int error = process_->start_error(); error != 0) {
    stop();
    return failure(Outcome::grader_fault, fmt::format("{} could not be started: {}.",
                                                      fmt::join(command_, " "), strerror(error)));
  }
  worker::prepare_descriptor(process_->pipe(kRequests));
  worker::prepare_descriptor(process_->pipe(kReplies));
  worker::Message request;
  request.body = {{"op", "hello"}, {"protocol", worker::kProtocolVersion}};
  Reply reply = exchange(request, start_limit_, {});
  if (reply.outcome != Outcome::ok) {
    return reply;
  }
  const json& body = reply.message.body;
  if (body.value("protocol", json()) != json(worker::kProtocolVersion) ||
      !body.contains("device")) {
    stop();
    return failure(Outcome::grader_fault, "The worker speaks another version of the protocol.");
  }
  device_ = body["device"];
  return reply;
}

Run WorkerClient::run(const Case& call, Poison poison, double time_limit, bool lines) {
  worker::Message message = run_request(call, poison, time_limit);
  message.body["lines"] = lines;
  return carry_out(std::move(message), call, poison, time_limit, nullptr);
}

TracedRun WorkerClient::trace(const Case& call, std::size_t most, double time_limit) {
  worker::Message message = run_request(call, Poison::nan, time_limit);
  message.body["trace"] = most;
  TracedRun traced;
  traced.run = carry_out(std::move(message), call, Poison::nan, time_limit, &traced.launches);
  return traced;
}

Run WorkerClient::carry_out(worker::Message message, const Case& call, Poison poison,
                            double time_limit, json* launches) {
  Reply reply = request(std::move(message), kClockPerLimit * time_limit, reply_limits(call));
  Run run;
  if (reply.outcome == Outcome::ok) {
    try {
      run = read_run(call, poison, reply.message);
      if (launches != nullptr) {
        *launches = traced_launches(reply.message.body);
      }
    } catch (const std::exception&) {
      reply = nonsense();
    }
  }
  if (reply.outcome != Outcome::ok) {
    run.outcome = reply.outcome;
    run.error = reply.error;
  }
  run.output = take_output();
  if (run.outcome != Outcome::ok) {
    stop();
  }
  return run;
}

Reply WorkerClient::prepare(const Case& call, int sets, double time_limit) {
  return request(prepare_request(call, sets), time_limit, {});
}

TimedCalls WorkerClient::sample(int count, int warmup, double time_limit) {
  worker::Message message;
  message.body = {{"op", "sample"}, {"count", count}, {"warmup", warmup}};
  const Reply reply = request(message, time_limit, {});
  TimedCalls calls;
  calls.outcome = reply.outcome;
  calls.error = reply.error;
  if (reply.outcome == Outcome::ok) {
    try {
      calls.milliseconds = reply.message.body.at("ms").get<std::vector<double>>();
      calls.generation = reply.message.body.at("generation").get<std::uint64_t>();
    } catch (const json::exception&) {
      calls.outcome = nonsense().outcome;
      calls.error = nonsense().error;
    }
  }
  return calls;
}

Reply WorkerClient::fetch(const std::vector<std::int64_t>& rows, double time_limit) {
  worker::Message message;
  message.body = {{"op", "fetch"}, {"rows", rows}};
  return request(message, time_limit, {});
}

Reply WorkerClient::release(double time_limit) {
  worker::Message message;
  message.body = {{"op", "release"}};
  return request(message, time_limit, {});
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
}

Reply WorkerClient::request(worker::Message message, double seconds, const worker::Limits& limits) {
  Reply started = hello();
  return started.outcome == Outcome::ok ? exchange(std::move(message), seconds, limits) : started;
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
  Reply reply;
  worker::Transfer transfer = worker::write_message(process_->pipe(kRequests), message, wait);
  if (transfer == worker::Transfer::done) {
    transfer = worker::read_message(process_->pipe(kReplies), reply.message, limits, wait);
  }
  if (transfer != worker::Transfer::done) {
    return lost(transfer, waited, deadline, seconds);
  }
  const json& body = reply.message.body;
  if (!body.is_object() || body.value("id", json()) != json(id)) {
    stop();
    return nonsense();
  }
  const std::string operation = text_of(body, "op", "");
  if (operation == "refused" || operation == "unavailable") {
    stop();
    return failure(Outcome::grader_fault, text_of(body, "reason", "The worker gives no reason."));
  }
  const std::string status = text_of(body, "status", "ok");
  if (message.body["op"] != "run" && status != "ok") {
    stop();
    return failure(status == "launch error"    ? Outcome::launch_error
                   : status == "out of memory" ? Outcome::out_of_memory
                                               : Outcome::device_error,
                   text_of(body, "error", ""));
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
  if (waited == Waited::fork_bomb) {
    return failure(Outcome::ended_early,
                   fmt::format("The program started more than {} processes.", kMostProcesses));
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
