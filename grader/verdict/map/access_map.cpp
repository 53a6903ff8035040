#include "verdict/map/access_map.h"

#include <fmt/format.h>

#include <optional>

#include "verdict/contract/call.h"
#include "verdict/session/events.h"
#include "verdict/session/explain_finding.h"
#include "verdict/session/judge.h"
#include "verdict/worker/worker_client.h"
#include "wire/json.h"

namespace onepass::verdict {
namespace {

using nlohmann::json;

constexpr double kLimit = 10.0;                                // seconds for a launch
constexpr std::int64_t kMostElements = std::int64_t{1} << 22;  // more is slow, and never drawn

/// Why the shape cannot be drawn; nothing if it can.
std::optional<std::string> refusal(const Exercise& exercise, const RowsByCols& shape) {
  if (shape.rows < 1 || shape.cols < 1) {
    return "A map needs at least one row and one column.";
  }
  if (shape.cols > kMostElements || shape.rows > kMostElements / shape.cols) {
    return fmt::format("{} x {} is more than a map can show: take at most {} elements.", shape.rows,
                       shape.cols, kMostElements);
  }
  return objection(exercise, shape);
}

/// What a right kernel has to read and to write: the contract's tensors, not scratch.
json describe(const Case& call, const Buffer& buffer) {
  const contract::Tensor* tensor = contract::tensor_of(call, buffer.name);
  const bool is_data = tensor != nullptr && tensor->is_data();
  return {{"name", buffer.name},
          {"rows", buffer.rows},
          {"cols", buffer.cols},
          {"stride", buffer.stride()},
          {"element_bytes", size_of(buffer.dtype)},
          {"is_input", is_data && buffer.role != Role::output},
          {"is_output", is_data && buffer.role != Role::input}};
}

json describe(const Case& call, const Run& run, const Finding& finding) {
  json parties = json::array();
  for (const Party& party : finding.parties) {
    parties.push_back(party);
    parties.back()["text"] = sentence_of(party);
  }
  const Diagnosis diagnosis = explain_finding(call, run, finding, kNobodyAsked);
  return {{"kind", finding.kind},
          {"mistake", diagnosis.mistake ? json(*diagnosis.mistake) : json()},
          {"kernel", finding.kernel},
          {"message", diagnosis.sentence},
          {"warning", finding.warning},
          {"buffer", finding.buffer},
          {"parties", parties}};
}

}  // namespace

json access_map(const Exercise& exercise, const std::string& worker, const RowsByCols& shape,
                std::uint64_t seed, std::size_t most) {
  if (const auto reason = refusal(exercise, shape)) {
    return {{"event", "unavailable"}, {"reason", *reason}};
  }
  const Case call = exercise.measurement.make_case(shape_of(exercise, shape), seed);
  WorkerClient client(worker);
  const Run run = client.trace(call, most, kLimit);

  json map = {{"event", "map"},
              {"exercise", exercise.id},
              {"rows", shape.rows},
              {"cols", shape.cols},
              {"dtype", name(shape.dtype)},
              {"call", call.describe()},
              {"buffers", json::array()},
              {"launches", json::array()},
              {"findings", json::array()},
              {"status", Status::passed},
              {"error", ""},
              {"location", nullptr}};
  for (const Buffer& buffer : call.buffers()) {
    if (!buffer.null) {
      map["buffers"].push_back(describe(call, buffer));
    }
  }
  for (std::size_t i = 0; i < run.trace.size(); ++i) {
    map["launches"].push_back(run.traffic[i]);
    map["launches"].back()["requests"] = run.trace[i];
  }
  for (const Finding& finding : run.findings) {
    map["findings"].push_back(describe(call, run, finding));
  }
  if (run.outcome != Outcome::ok) {
    const Failure failure = judge_ending(call, run, kNobodyAsked).value();
    map["status"] = failure.status;
    map["error"] = failure.message;
    if (failure.location) {
      map["location"] = *failure.location;
    }
  }
  return map;
}

}  // namespace onepass::verdict
