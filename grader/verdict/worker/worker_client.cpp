#include "verdict/worker/worker_client.h"

#include <algorithm>
#include <csignal>
#include <exception>
#include <utility>

#include "verdict/worker/allowance.h"
#include "verdict/worker/messages.h"
#include "verdict/worker/worker_end.h"
#include "wire/json.h"

namespace onepass::verdict {
namespace {

using nlohmann::json;
using process::Clock;
using process::Waited;

constexpr double kClockPerLimit = 3.0;  // the machine may be busy; the simulator counts CPU time
constexpr double kLeastClock = 1.5;     // seconds: findings take time too
constexpr double kLastWords = 3.0;      // seconds to say where a kernel is
constexpr double kStartCpu = 15.0;      // seconds in which a worker must have said hello
constexpr double kStartGpu = 60.0;      // where a driver may have to wake up
constexpr std::uint64_t kCopies = 4;    // of a call's numbers that a worker may make
constexpr std::size_t kRequests = 0, kReplies = 1;  // its pipes

Request request_of(const Case& call, const Turn& turn) {
  Request request = request_of(call, turn.poison);
  request.call.block_order = turn.order;
  request.call.order_seed = turn.order_seed;
  request.call.most_blocks = turn.most_blocks;
  request.call.most_accesses = turn.most_accesses;
  request.call.no_launches = turn.no_launches;
  return request;
}

}  // namespace

void WorkerClient::begin() {
  if (!process_) {
    process_ = std::make_unique<process::Process>(program_of(worker_, expected_device_));
  }
}

Reply WorkerClient::hello() {
  return process_ && has_told_device_ ? Reply() : once_more_if_killed([this] { return start(); });
}

Reply WorkerClient::start() {
  if (const std::string obstacle = obstacle_to(expected_device_); !obstacle.empty()) {
    return failure(Outcome::grader_fault, obstacle);
  }
  begin();
  if (const int error = process_->start_error(); error != 0) {
    stop();
    return not_started(error);
  }
  worker::prepare_descriptor(process_->pipe(kRequests));
  worker::prepare_descriptor(process_->pipe(kReplies));
  const double limit = expected_device_ == "gpu" ? kStartGpu : kStartCpu;
  worker::Message request = worker::message_of("hello", worker::kProtocolVersion);
  Reply reply = exchange(request, limit, {});
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
    has_told_device_ = true;
  } else if (const std::string reason =
                 reply.outcome == Outcome::ended_early ? why_not_loaded() : "";
             !reason.empty()) {
    return failure(Outcome::grader_fault, reason);
  }
  return reply;
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

Run WorkerClient::trace(const Case& call, std::size_t most, double time_limit, const Turn& turn) {
  Request request = request_of(call, turn);
  request.call.trace = static_cast<std::int64_t>(most);
  return carry_out(std::move(request), call, turn.poison, time_limit);
}

Run WorkerClient::carry_out(Request asked, const Case& call, Poison poison, double time_limit,
                            const Case* beside) {
  asked.call.time_limit_s = time_limit;
  asked.call.device = other_device_;
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
  most_memory_ = may_take_ + kCopies * limits.blob_bytes;
  worker::Message message = message_of("run", std::move(asked));
  const double seconds = std::max(kLeastClock, kClockPerLimit * time_limit);
  const auto ask = [&] { return request(message, seconds, limits, read); };
  Reply reply = once_more_if_killed(ask);
  // By the clock also whoever waits for a machine that stands still has not answered. What has no
  // end shows it again, and is believed from then on.
  if (reply.outcome == Outcome::timed_out && !is_slow_) {
    reply = once_more_if_killed(ask);
    is_slow_ = reply.outcome == Outcome::timed_out;
  }
  static_cast<wire::Ending&>(run) = reply;
  has_answered_ = has_answered_ || reply.outcome == Outcome::ok;
  run.output = take_output();
  return run;
}

WorkerClient::Launchers WorkerClient::ask(const std::vector<Case>& calls, double time_limit) {
  wire::Question question = question_of(calls);
  question.call.time_limit_s = time_limit;
  question.call.device = other_device_;
  std::vector<wire::Launched> answers;
  const Read read = [&](const worker::Message& message) -> wire::Ending {
    answers = wire::read<std::vector<wire::Launched>>(message.body.at("content"));
    if (answers.size() != calls.size()) {
      throw std::out_of_range("not as many answers as calls");
    }
    return {};
  };
  worker::Message message = worker::message_of("ask", question);
  const Reply reply =
      request(message, std::max(kLeastClock, kClockPerLimit * time_limit), {}, read);
  if (reply.outcome != Outcome::ok) {
    answers.clear();
  }
  return {reply.outcome == Outcome::crashed, std::move(answers)};
}

Reply WorkerClient::prepare(const Case& call, int sets, double time_limit) {
  Request asked = request_of(call, Poison::nan);
  asked.call.sets = sets;
  const Read read = [](const worker::Message& message) {
    return wire::read<wire::Ending>(message.body.at("content"));
  };
  worker::Message message = message_of("prepare", std::move(asked));
  return request(message, time_limit, {}, read);
}

wire::Sampled WorkerClient::sample(int count, int warmup, double time_limit) {
  wire::Sampled sampled;
  const Read read = [&](const worker::Message& message) {
    sampled = wire::read<wire::Sampled>(message.body.at("content"));
    return sampled.ending;
  };
  worker::Message message = worker::message_of("sample", wire::SampleOrder{count, warmup});
  sampled.ending = request(message, time_limit, {}, read);
  return sampled;
}

Reply WorkerClient::fetch(const std::vector<std::int64_t>& rows, double time_limit) {
  worker::Message message = worker::message_of("fetch", wire::FetchOrder{rows});
  return request(message, time_limit, {}, nullptr);
}

Reply WorkerClient::release(double time_limit) {
  worker::Message message = worker::message_of("release", nullptr);
  return request(message, time_limit, {}, nullptr);
}

std::string WorkerClient::take_output() {
  if (process_) {
    last_output_ += process_->take_output();
  }
  return std::exchange(last_output_, {});
}

void WorkerClient::change_device(const wire::OtherDevice& device) {
  stop();
  other_device_ = device;
}

void WorkerClient::stop() {
  if (process_) {
    process_->kill();
    last_output_ += process_->take_output();
    process_.reset();
  }
  has_told_device_ = has_answered_ = false;
}

Reply WorkerClient::request(worker::Message& message, double seconds, const worker::Limits& limits,
                            const Read& read) {
  Reply reply = hello();
  if (reply.outcome == Outcome::ok) {
    reply = exchange(message, seconds, limits);
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

// A busy machine gives a kernel so little time that the clock ends the call before the simulator
// does, which knows at which line the kernel is.
bool WorkerClient::answers_late(worker::Message& message, const worker::Limits& limits) {
  if (expected_device_ != "cpu") {
    return false;
  }
  process_->send(SIGPROF);
  const Clock::time_point deadline = process::after(kLastWords);
  return worker::read_message(
             process_->pipe(kReplies), message, limits, [&](int descriptor, short events) {
               return process_->wait(descriptor, events, deadline) == Waited::ready;
             }) == worker::Transfer::done;
}

Reply WorkerClient::exchange(worker::Message& message, double seconds,
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
  if (transfer == worker::Transfer::gave_up && waited == Waited::timed_out) {
    if (!answers_late(reply.message, limits)) {
      stop();
      return no_answer(seconds);
    }
  } else if (transfer != worker::Transfer::done) {
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

}  // namespace onepass::verdict
