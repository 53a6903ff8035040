#include "verdict/worker/messages.h"

#include <fmt/format.h>

#include <stdexcept>

namespace onepass::verdict {
namespace {

using nlohmann::json;

json fill_of(const Buffer& buffer, Poison poison, std::vector<worker::Blob>& blobs) {
  if (buffer.role == Role::output) {
    return {{"byte", static_cast<int>(poison)}};
  }
  if (buffer.hash) {
    return {{"hash",
             {{"seed", buffer.hash->seed},
              {"mean", buffer.hash->mean},
              {"scale", buffer.hash->scale},
              {"dtype", name(buffer.dtype)}}}};
  }
  blobs.push_back(buffer.values.bytes());
  return {{"blob", blobs.size() - 1}};
}

json describe(const Buffer& buffer, Poison poison, std::vector<worker::Blob>& blobs) {
  return {{"name", buffer.name},
          {"rows", buffer.rows},
          {"cols", buffer.cols},
          {"stride", buffer.stride()},
          {"element_bytes", size_of(buffer.dtype)},
          {"offset", buffer.layout.offset},
          // What has contents before the call counts as initialised, and "input" says that.
          {"role", buffer.role == Role::output ? "output" : "input"},
          {"null", buffer.null},
          {"over", buffer.over},
          {"fill", fill_of(buffer, poison, blobs)},
          {"return", !buffer.null}};
}

worker::Message call_request(const char* operation, const Case& call, Poison poison) {
  worker::Message request;
  json scalars = json::object();
  for (const auto& [scalar, value] : call.scalars()) {
    std::visit([&, key = scalar](auto number) { scalars[key] = number; }, value);
  }
  json buffers = json::array();
  for (const Buffer& buffer : call.buffers()) {
    buffers.push_back(describe(buffer, poison, request.blobs));
  }
  request.body = {{"op", operation},
                  {"function", call.function()},
                  {"dtype", call.dtype_name()},
                  {"scalars", std::move(scalars)},
                  {"buffers", std::move(buffers)}};
  return request;
}

Outcome outcome_of(const std::string& status) {
  if (status == "ok") {
    return Outcome::ok;
  }
  if (status == "launch error") {
    return Outcome::launch_error;
  }
  if (status == "device error") {
    return Outcome::device_error;
  }
  if (status == "out of memory") {
    return Outcome::out_of_memory;
  }
  throw std::runtime_error("unknown status");
}

void read_trespasses(const json& buffer, std::vector<Trespass>& trespasses) {
  const std::string name = buffer.at("name").get<std::string>();
  const json padding = buffer.value("padding_changed", json());
  if (!padding.is_null()) {
    const auto row = padding.at("row").get<std::int64_t>();
    trespasses.push_back(
        {name, fmt::format("between the end of row {} and the start of row {}", row, row + 1)});
  }
  const json guard = buffer.value("guard_changed", json());
  if (!guard.is_null()) {
    const bool before = guard.contains("elements_before");
    const auto far = guard.at(before ? "elements_before" : "elements_after").get<std::int64_t>();
    trespasses.push_back({name, fmt::format("{} element{} {}", far, far == 1 ? "" : "s",
                                            before ? "before its first" : "after its last")});
  }
}

const json& reply_for(const Buffer& buffer, const json& replies) {
  for (const json& reply : replies) {
    if (reply.at("name") == buffer.name) {
      return reply;
    }
  }
  throw std::runtime_error("a buffer is missing");
}

}  // namespace

worker::Message run_request(const Case& call, Poison poison, double time_limit) {
  worker::Message request = call_request("run", call, poison);
  request.body["time_limit_s"] = time_limit;
  return request;
}

worker::Message prepare_request(const Case& call, int sets) {
  worker::Message request = call_request("prepare", call, Poison::nan);
  request.body["sets"] = sets;
  return request;
}

worker::Limits reply_limits(const Case& call) {
  worker::Limits limits;
  limits.blobs = call.buffers().size();
  limits.blob_bytes = 0;
  for (const Buffer& buffer : call.buffers()) {
    limits.blob_bytes +=
        static_cast<std::uint64_t>(buffer.rows * buffer.cols) * size_of(buffer.dtype);
  }
  return limits;
}

Run read_run(const Case& call, Poison poison, const worker::Message& reply) {
  const json& body = reply.body;
  Run run;
  run.outcome = outcome_of(body.at("status").get<std::string>());
  run.error = body.value("error", json()).is_string() ? body["error"].get<std::string>() : "";
  for (const json& finding : body.value("findings", json::array())) {
    run.findings.push_back(finding_from(finding));
  }
  for (const json& launch : body.value("traffic", json::array())) {
    run.traffic.push_back(traffic_from(launch));
  }
  if (run.outcome != Outcome::ok) {
    return run;
  }
  run.answer.poison = poison;
  for (const Buffer& buffer : call.buffers()) {
    if (buffer.null) {
      continue;
    }
    const json& entry = reply_for(buffer, body.at("buffers"));
    read_trespasses(entry, run.trespasses);
    const worker::Blob& bytes = reply.blobs.at(entry.at("blob").get<std::size_t>());
    run.answer.buffers.emplace(buffer.name, Matrix(buffer.dtype, buffer.rows, buffer.cols, bytes));
  }
  return run;
}

}  // namespace onepass::verdict
