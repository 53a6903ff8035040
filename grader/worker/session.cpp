// The operations of the protocol, on whatever device the worker is linked with.
#include "worker/session.h"

#include <strings.h>

#include <algorithm>
#include <new>
#include <span>
#include <utility>

#include "wire/json.h"

namespace onepass::worker {
namespace {

using nlohmann::json;

constexpr int64_t kMostElements = int64_t{1} << 40;
constexpr int64_t kMostRowsTogether = int64_t{1} << 16;  // of which each is looked at
constexpr int64_t kMostTraced = 100'000;
constexpr int kMostSets = 64;
constexpr int kMostSamples = 100'000;

Message refusal(const std::string& reason) {
  return message_of("refused", reason);
}

Function find_function(const Device& device, const wire::Call& call) {
  for (const FunctionTable& table :
       {bound_functions(), bound_functions_2 != nullptr ? bound_functions_2() : FunctionTable{},
        bound_functions_3 != nullptr ? bound_functions_3() : FunctionTable{},
        device.own_functions()}) {
    for (const Function& function : std::span(table.functions, static_cast<size_t>(table.count))) {
      const bool any_dtype = function.dtype[0] == '\0';
      if (function.name == call.function && (any_dtype || function.dtype == call.dtype)) {
        return function;
      }
    }
  }
  throw std::invalid_argument("this worker has no function " + call.function + " for dtype \"" +
                              call.dtype + "\"");
}

void check_range(const char* name, int64_t value, int64_t least, int64_t most) {
  if (value < least || value > most) {
    throw std::invalid_argument(std::string(name) + " is out of range");
  }
}

// The deciding process is trusted, but not to be free of mistakes: a request that makes no sense is
// refused here, and can be carried out without a second look afterwards.
void check_place(const wire::BufferSpec& spec, const std::vector<wire::BufferSpec>& all) {
  const auto host = std::find_if(
      all.begin(), all.end(), [&](const wire::BufferSpec& other) { return other.name == spec.in; });
  if (host == all.end() || host->is_null || !host->in.empty() || host->dtype != spec.dtype) {
    throw std::invalid_argument("there is no buffer for " + spec.name + " to lie in");
  }
  check_range("rows", std::max(host->rows, spec.rows), 0, kMostRowsTogether);
}

void check_buffer(const wire::BufferSpec& spec, const std::vector<Blob>& blobs) {
  if (spec.is_null) {
    return;
  }
  check_range("rows", spec.rows, 0, kMostElements);
  check_range("cols", spec.cols, 0, kMostElements);
  check_range("stride", spec.stride, 0, kMostElements);
  check_range("offset", spec.offset, 0, kMostElements);
  if (spec.stride < spec.cols) {
    throw std::invalid_argument("the rows of " + spec.name +
                                " overlap: its stride is less than its cols");
  }
  if (spec.rows > 0 && spec.stride > kMostElements / spec.rows) {
    throw std::invalid_argument("the buffer " + spec.name + " is too large");
  }
  if (spec.fill != wire::Fill::blob) {
    return;
  }
  if (spec.blob >= blobs.size()) {
    throw std::invalid_argument("there is no blob for " + spec.name);
  }
  if (blobs[spec.blob].size() != static_cast<size_t>(spec.rows) * spec.row_bytes()) {
    throw std::invalid_argument("the blob for " + spec.name + " is not of rows * cols elements");
  }
}

void check_call(const wire::Call& call, const std::vector<Blob>& blobs) {
  for (const auto* buffers : {&call.buffers, &call.beside_buffers}) {
    for (const wire::BufferSpec& buffer : *buffers) {
      check_buffer(buffer, blobs);
      if (!buffer.in.empty() && !buffer.is_null) {
        check_place(buffer, *buffers);
      }
    }
  }
  if (!(call.time_limit_s > 0)) {
    throw std::invalid_argument("the time limit is no positive number");
  }
  check_range("trace", call.trace, 0, kMostTraced);
  check_range("sets", call.sets, 1, kMostSets);
}

/// The host code that is called next is not to find the inputs in its own memory.
void wipe(std::vector<Blob>& blobs) {
  for (Blob& blob : blobs) {
    explicit_bzero(blob.data(), blob.size());
  }
}

/// What became of the buffers during the call. Appends their elements to the reply's blobs.
std::vector<wire::SeenBuffer> observe(const Buffers& buffers, std::vector<Blob>& blobs) {
  std::vector<wire::SeenBuffer> all;
  for (const auto& buffer : buffers) {
    wire::SeenBuffer& seen = all.emplace_back(buffer->strays());
    if (buffer->spec().send_back && !buffer->spec().is_null) {
      seen.blob = static_cast<int64_t>(blobs.size());
      blobs.push_back(buffer->read(0, buffer->spec().rows));
    }
  }
  return all;
}

}  // namespace

Message Session::answer(Message request) {
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

Message Session::dispatch(Message& request) {
  const auto op = request.body.at("op").get<std::string>();
  const json& content = request.body.at("content");
  if (op == "hello") {
    return hello(wire::read<int>(content));
  }
  if (op == "run") {
    return run(wire::read<wire::Call>(content), request.blobs);
  }
  if (op == "ask") {
    return ask(wire::read<wire::Question>(content));
  }
  if (op == "prepare") {
    return prepare(wire::read<wire::Call>(content), request.blobs);
  }
  if (op == "sample") {
    return sample(wire::read<wire::SampleOrder>(content));
  }
  if (op == "fetch") {
    return fetch(wire::read<wire::FetchOrder>(content));
  }
  if (op == "release") {
    return release();
  }
  return refusal("unknown operation " + op);
}

Message Session::hello(int version) {
  if (version != kProtocolVersion) {
    return refusal("this worker speaks version " + std::to_string(kProtocolVersion) +
                   " of the protocol; build it again");
  }
  try {
    return message_of("hello", device_.facts());
  } catch (const Unavailable& unavailable) {
    return message_of("unavailable", unavailable.what());
  }
}

Message Session::run(const wire::Call& call, std::vector<Blob>& blobs) {
  check_call(call, blobs);
  const Function function = find_function(device_, call);
  if (!device_.observe_requests(call.lines, static_cast<size_t>(call.trace))) {
    return refusal("this device does not see requests");
  }
  device_.limit_accesses(call.most_accesses);
  device_.refuse_launches(call.no_launches);
  device_.become(call.device);
  device_.choose_blocks(call.most_blocks, call.block_order, call.order_seed);
  device_.hold_back(!call.profiled);
  Buffers buffers, beside;
  wire::Ran ran;
  try {
    buffers = make_buffers(device_, call.buffers, blobs);
    beside = make_buffers(device_, call.beside_buffers, blobs);
    wipe(blobs);
    const ArgumentTable table = make_arguments(device_, buffers, call.scalars);
    ran.ending = beside.empty()
                     ? device_.call(function, table, call.time_limit_s)
                     : device_.call_both(function, table,
                                         make_arguments(device_, beside, call.beside_scalars),
                                         call.time_limit_s);
  } catch (const OutOfMemory& error) {
    ran.ending = {Outcome::out_of_memory, error.what()};
  } catch (const std::bad_alloc&) {
    ran.ending = {Outcome::out_of_memory, "this computer has no memory left for the buffers"};
  }
  ran.observations = device_.take_observations();
  std::vector<Blob> seen;
  if (ran.ending.outcome == Outcome::ok) {
    ran.buffers = observe(buffers, seen);
    ran.beside_buffers = observe(beside, seen);
  }
  Message reply = message_of("ran", ran);
  reply.blobs = std::move(seen);
  return reply;
}

Message Session::ask(const wire::Question& question) {
  const wire::Call& call = question.call;
  check_call(call, {});
  const Function function = find_function(device_, call);
  device_.observe_requests(false, 0);
  device_.become(call.device);
  device_.refuse_launches(false);
  device_.run_no_blocks(true);
  std::vector<wire::Launched> answers(question.scalars.size());
  try {
    const Buffers buffers = make_buffers(device_, call.buffers, {}, false);
    for (size_t i = 0; i < answers.size(); ++i) {
      const ArgumentTable table = make_arguments(device_, buffers, question.scalars[i]);
      const Ending ending = device_.call(function, table, call.time_limit_s);
      const wire::Observations seen = device_.take_observations();
      answers[i].went_well = ending.outcome == Outcome::ok && seen.findings.empty();
      for (const simulator::LaunchTraffic& launch : seen.traffic) {
        const auto volume = [](const simulator::Dim3& size) {
          return uint64_t{size.x} * size.y * size.z;
        };
        answers[i].launches.push_back({launch.function, volume(launch.grid), volume(launch.block),
                                       launch.dynamic_shared_bytes, launch.in_clusters,
                                       launch.is_cooperative});
      }
    }
  } catch (const OutOfMemory&) {  // then nothing went well
  }
  device_.run_no_blocks(false);
  return message_of("asked", answers);
}

Message Session::prepare(const wire::Call& call, const std::vector<Blob>& blobs) {
  timing_.reset();
  check_call(call, blobs);
  const Function function = find_function(device_, call);
  std::unique_ptr<Stopwatch> stopwatch = device_.make_stopwatch();
  if (!stopwatch) {
    return refusal("this device does not measure time");
  }
  Ending ending;
  try {
    timing_.emplace(device_, std::move(stopwatch), function, call, blobs);
  } catch (const OutOfMemory& error) {
    ending = {Outcome::out_of_memory, error.what()};
  }
  return message_of("prepared", ending);
}

Message Session::sample(const wire::SampleOrder& order) {
  if (!timing_) {
    return refusal("nothing has been prepared for timing");
  }
  check_range("count", order.count, 1, kMostSamples);
  check_range("warmup", order.warmup, 0, kMostSamples);
  return message_of("sampled", timing_->sample(order.count, order.warmup));
}

Message Session::fetch(const wire::FetchOrder& order) {
  if (!timing_) {
    return refusal("nothing has been prepared for timing");
  }
  std::vector<wire::FetchedBuffer> buffers;
  std::vector<Blob> blobs;
  for (const auto& buffer : timing_->last_buffers()) {
    if (buffer->spec().is_null) {
      continue;
    }
    wire::FetchedBuffer& fetched = buffers.emplace_back();
    fetched.name = buffer->spec().name;
    fetched.blob = blobs.size();
    Blob& blob = blobs.emplace_back();
    for (const int64_t row : order.rows) {
      if (row >= 0 && row < buffer->spec().rows) {
        fetched.rows.push_back(row);
        const Blob bytes = buffer->read(row, 1);
        blob.insert(blob.end(), bytes.begin(), bytes.end());
      }
    }
  }
  Message reply = message_of("fetched", buffers);
  reply.blobs = std::move(blobs);
  return reply;
}

Message Session::release() {
  timing_.reset();
  return message_of("released", nullptr);
}

}  // namespace onepass::worker
