// The JSON form of what crosses between the deciding process and a worker, for both sides.
#pragma once

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "wire/messages.h"

namespace simulator {

NLOHMANN_JSON_SERIALIZE_ENUM(MemorySpace, {{MemorySpace::shared, "shared"},
                                           {MemorySpace::global, "global"},
                                           {MemorySpace::distributed, "distributed"}})
NLOHMANN_JSON_SERIALIZE_ENUM(AccessType, {{AccessType::read, "read"},
                                          {AccessType::write, "write"},
                                          {AccessType::atomic, "atomic"}})

NLOHMANN_JSON_SERIALIZE_ENUM(BlockOrder, {{BlockOrder::rising, "rising"},
                                          {BlockOrder::falling, "falling"},
                                          {BlockOrder::shuffled, "shuffled"}})

inline void to_json(nlohmann::json& json, Kind kind) {
  json = kind_name(kind);
}

inline void from_json(const nlohmann::json& json, Kind& kind) {
  for (const KindName& known : kKindNames) {
    if (json == known.name) {
      kind = known.kind;
      return;
    }
  }
  throw std::invalid_argument("a finding of an unknown kind");
}

inline void to_json(nlohmann::json& json, const Dim3& size) {
  json = {size.x, size.y, size.z};
}

inline void from_json(const nlohmann::json& json, Dim3& size) {
  size = {json.at(0).get<unsigned>(), json.at(1).get<unsigned>(), json.at(2).get<unsigned>()};
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Party, action, file, line, thread, block, warp, lane, on_host,
                                   called_from, caller_file)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Finding, kind, kernel, message, warning, parties, buffer, index,
                                   missing, habit, writes_again)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LineTraffic, file, line, caller_file, called_from, space, type,
                                   is_bulk, buffer, requests, lanes, bytes, units, least_units,
                                   distinct_sectors, lane_bytes, lane_distance)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LaunchTraffic, kernel, grid, block, read_bytes, written_bytes,
                                   read_sectors, written_sectors, lines, function,
                                   dynamic_shared_bytes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TracedRequest, block, warp, step, line, lanes, bytes, units,
                                   least_units, offsets)

}  // namespace simulator

namespace onepass::wire {

NLOHMANN_JSON_SERIALIZE_ENUM(Dtype, {{Dtype::fp32, "fp32"},
                                     {Dtype::fp16, "fp16"},
                                     {Dtype::bf16, "bf16"},
                                     {Dtype::int32, "int32"},
                                     {Dtype::int64, "int64"}})
NLOHMANN_JSON_SERIALIZE_ENUM(Fill,
                             {{Fill::blob, "blob"}, {Fill::byte, "byte"}, {Fill::hash, "hash"}})
// What a worker cannot tell has no name, and reads as `ok`, which read() refuses.
NLOHMANN_JSON_SERIALIZE_ENUM(Outcome, {{Outcome::ok, "ok"},
                                       {Outcome::launch_error, "launch error"},
                                       {Outcome::device_error, "device error"},
                                       {Outcome::out_of_memory, "out of memory"}})

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(HashFill, seed, mean, scale)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(BufferSpec, name, dtype, rows, cols, stride, offset, in,
                                   is_output, is_null, over, fill, blob, byte, hash, send_back)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(OtherDevice, multiprocessors, capability)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Call, function, dtype, scalars, buffers, time_limit_s, lines,
                                   trace, most_accesses, most_blocks, device, no_launches,
                                   block_order, order_seed, profiled, sets, beside_scalars,
                                   beside_buffers)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Question, call, scalars)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SampleOrder, count, warmup)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(FetchOrder, rows)

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(DeviceFacts, kind, name, memory_bytes, l2_bytes, multiprocessors,
                                   peak_gbs)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Ending, outcome, error)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SeenBuffer, name, blob, padding_row, padding_col,
                                   elements_before, elements_after)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Observations, findings, traffic, trace)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Ran, ending, observations, buffers, beside_buffers)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Launch, kernel, blocks, threads, shared_bytes, in_clusters,
                                   is_cooperative)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Launched, went_well, launches)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Sampled, ending, ms, generation)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(FetchedBuffer, name, rows, blob)

/// Sets every fraction to zero. Is there one?
inline bool clear_fractions(nlohmann::json& json) {
  bool found = json.is_number_float();
  if (found) {
    json = 0.0;
  } else if (json.is_structured()) {
    for (nlohmann::json& part : json) {
      found = clear_fractions(part) || found;
    }
  }
  return found;
}

/// What `json` says, if it is the JSON of a T and of nothing else. Throws std::exception if a
/// member is missing, unknown, of another type or beyond its type's range: whoever wrote it may be
/// the student's code. The library itself turns any number into any other; so what was read has to
/// give the same JSON again.
template <typename T>
T read(const nlohmann::json& json) {
  // A fraction that no integer can hold may not be turned into one: so zeros first.
  if (nlohmann::json cleared = json;
      clear_fractions(cleared) && nlohmann::json(cleared.get<T>()).dump() != cleared.dump()) {
    throw std::invalid_argument("a fraction came where there should be none");
  }
  T value = json.get<T>();
  if (nlohmann::json(value) != json) {
    throw std::invalid_argument("what came is not what it should be");
  }
  return value;
}

}  // namespace onepass::wire
