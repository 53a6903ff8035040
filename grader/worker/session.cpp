// The operations of the protocol, on whatever device the worker is linked with.
#include "worker/session.h"

#include <chrono>
#include <initializer_list>
#include <new>
#include <utility>

namespace onepass::worker {
namespace {

using nlohmann::json;

constexpr int kMostSets = 64;
constexpr int kMostSamples = 100'000;

const char* name_of(Status status) {
  switch (status) {
    case Status::ok:
      return "ok";
    case Status::launch_error:
      return "launch error";
    case Status::device_error:
      return "device error";
    case Status::out_of_memory:
      return "out of memory";
  }
  return "unknown";
}

Message reply_of(json body) {
  return {std::move(body), {}};
}

Message refusal(const std::string& reason) {
  return reply_of({{"op", "refused"}, {"reason", reason}});
}

/// {"op", "status", "error"}
Message outcome_reply(const char* op, const Outcome& outcome) {
  return reply_of({{"op", op}, {"status", name_of(outcome.status)}, {"error", outcome.error}});
}

std::vector<Function> all_functions(const Device& device) {
  std::vector<Function> functions;
  for (const FunctionTable& table : {bound_functions(), device.own_functions()}) {
    functions.insert(functions.end(), table.functions, table.functions + table.count);
  }
  return functions;
}

Function find_function(const Device& device, const CallRequest& request) {
  for (const Function& function : all_functions(device)) {
    const bool any_dtype = function.dtype[0] == '\0';
    if (function.name == request.function && (any_dtype || function.dtype == request.dtype)) {
      return function;
    }
  }
  throw BadRequest("this worker has no function " + request.function + " for dtype \"" +
                   request.dtype + "\"");
}

json facts_json(const DeviceFacts& facts) {
  json device = {{"kind", facts.kind}, {"name", facts.name}, {"memory_bytes", facts.memory_bytes}};
  if (facts.l2_bytes > 0) {
    device["l2_bytes"] = facts.l2_bytes;
  }
  if (facts.multiprocessors > 0) {
    device["multiprocessors"] = facts.multiprocessors;
  }
  if (facts.peak_gbs > 0) {
    device["peak_gbs"] = facts.peak_gbs;
  }
  return device;
}

/// What became of a buffer during the call. Appends its elements to the reply's blobs.
json observe(const Buffer& buffer, std::vector<Blob>& blobs) {
  json seen = {{"name", buffer.spec().name},
               {"blob", nullptr},
               {"padding_changed", nullptr},
               {"guard_changed", nullptr}};
  if (const auto change = buffer.padding_change()) {
    seen["padding_changed"] = {{"row", change->row}, {"col", change->col}};
  }
  if (const auto change = buffer.guard_change()) {
    const char* side = change->before ? "elements_before" : "elements_after";
    seen["guard_changed"] = {{side, change->elements}};
  }
  if (buffer.spec().send_back && !buffer.spec().is_null) {
    seen["blob"] = blobs.size();
    blobs.push_back(buffer.read(0, buffer.spec().rows));
  }
  return seen;
}

int count_at(const json& body, const char* name, int least, int most) {
  const auto count = body.at(name).get<int64_t>();
  if (count < least || count > most) {
    throw BadRequest(std::string(name) + " is out of range");
  }
  return static_cast<int>(count);
}

}  // namespace

Message Session::answer(const Message& request) {
  Message reply;
  try {
    reply = dispatch(request);
  } catch (const std::exception& error) {  // of the request, of the binding, of the device
    reply = refusal(error.what());
  }
  if (const auto id = request.body.find("id"); id != request.body.end()) {
    reply.body["id"] = *id;
  }
  return reply;
}

Message Session::dispatch(const Message& request) {
  const auto op = request.body.at("op").get<std::string>();
  if (op == "hello") {
    return hello(request);
  }
  if (op == "run") {
    return run(request);
  }
  if (op == "prepare") {
    return prepare(request);
  }
  if (op == "sample") {
    return sample(request);
  }
  if (op == "fetch") {
    return fetch(request);
  }
  if (op == "release") {
    return release();
  }
  return refusal("unknown operation " + op);
}

Message Session::hello(const Message& request) {
  if (request.body.at("protocol").get<int>() != kProtocolVersion) {
    return refusal("this worker speaks version " + std::to_string(kProtocolVersion) +
                   " of the protocol; build it again");
  }
  try {
    json functions = json::array();
    for (const Function& function : all_functions(device_)) {
      functions.push_back({{"name", function.name}, {"dtype", function.dtype}});
    }
    return reply_of({{"op", "hello"},
                     {"protocol", kProtocolVersion},
                     {"device", facts_json(device_.facts())},
                     {"functions", functions}});
  } catch (const Unavailable& unavailable) {
    return reply_of({{"op", "unavailable"}, {"reason", unavailable.what()}});
  }
}

Message Session::run(const Message& request) {
  const CallRequest call = parse_call(request);
  const Function function = find_function(device_, call);
  if (!device_.observe_requests(call.lines, call.trace)) {
    return refusal("this device does not see requests");
  }
  Timing::BufferSet buffers;
  Outcome outcome;
  try {
    for (const BufferSpec& spec : call.buffers) {
      buffers.push_back(std::make_unique<Buffer>(device_, spec));
    }
    outcome =
        device_.call(function, make_arguments(device_, buffers, call.scalars), call.time_limit_s);
  } catch (const OutOfMemory& error) {
    outcome = {Status::out_of_memory, error.what()};
  } catch (const std::bad_alloc&) {
    outcome = {Status::out_of_memory, "this computer has no memory left for the buffers"};
  }
  Message reply = outcome_reply("ran", outcome);
  reply.body["findings"] = json::array();
  reply.body["traffic"] = json::array();
  reply.body["buffers"] = json::array();
  device_.add_observations(reply.body);
  if (outcome.status == Status::ok) {
    for (const auto& buffer : buffers) {
      reply.body["buffers"].push_back(observe(*buffer, reply.blobs));
    }
  }
  return reply;
}

Message Session::prepare(const Message& request) {
  timing_.reset();
  prepared_ = request;
  const CallRequest call = parse_call(prepared_);
  const Function function = find_function(device_, call);
  const int sets = count_at(request.body, "sets", 1, kMostSets);
  std::unique_ptr<Stopwatch> stopwatch = device_.make_stopwatch();
  if (!stopwatch) {
    return refusal("this device does not measure time");
  }
  try {
    timing_.emplace(device_, std::move(stopwatch), function, call, sets);
  } catch (const OutOfMemory& error) {
    return outcome_reply("prepared", {Status::out_of_memory, error.what()});
  }
  return outcome_reply("prepared", {});
}

Message Session::sample(const Message& request) {
  if (!timing_) {
    return refusal("nothing has been prepared for timing");
  }
  const int count = count_at(request.body, "count", 1, kMostSamples);
  const int warmup = count_at(request.body, "warmup", 0, kMostSamples);
  const auto start = std::chrono::steady_clock::now();
  const Timing::Result result = timing_->sample(count, warmup);
  const std::chrono::duration<double, std::milli> wall = std::chrono::steady_clock::now() - start;
  Message reply = outcome_reply("sampled", result.outcome);
  reply.body["ms"] = result.ms;
  reply.body["set"] = timing_->last_set();
  reply.body["generation"] = timing_->generation();
  reply.body["wall_ms"] = wall.count();
  return reply;
}

Message Session::fetch(const Message& request) {
  if (!timing_) {
    return refusal("nothing has been prepared for timing");
  }
  const auto rows = request.body.at("rows").get<std::vector<int64_t>>();
  Message reply = reply_of({{"op", "fetched"}, {"buffers", json::array()}});
  for (const auto& buffer : timing_->last_buffers()) {
    json present = json::array();
    Blob blob;
    for (const int64_t row : rows) {
      if (row >= 0 && row < buffer->spec().rows) {
        present.push_back(row);
        const Blob bytes = buffer->read(row, 1);
        blob.insert(blob.end(), bytes.begin(), bytes.end());
      }
    }
    reply.body["buffers"].push_back(
        {{"name", buffer->spec().name}, {"rows", present}, {"blob", reply.blobs.size()}});
    reply.blobs.push_back(std::move(blob));
  }
  return reply;
}

Message Session::release() {
  timing_.reset();
  prepared_ = {};
  return reply_of({{"op", "released"}});
}

}  // namespace onepass::worker
