// From JSON to structs. The deciding process is trusted, but not to be free of mistakes.
#include "worker/request.h"

#include <utility>

namespace onepass::worker {
namespace {

constexpr int64_t kMostElements = int64_t{1} << 40;
constexpr int64_t kMostTraced = 100'000;
constexpr unsigned kInputPadding = 0xFF;   // NaN in every type
constexpr unsigned kOutputPadding = 0xA5;  // no number that a kernel would write

int64_t count_at(const nlohmann::json& object, const char* name, int64_t most = kMostElements) {
  const auto value = object.at(name).get<int64_t>();
  if (value < 0 || value > most) {
    throw BadRequest(std::string(name) + " is out of range");
  }
  return value;
}

unsigned char byte_of(unsigned value) {
  if (value > 255) {
    throw BadRequest("a byte is a number from 0 to 255");
  }
  return static_cast<unsigned char>(value);
}

/// The dtype named, and the bytes of its elements.
std::pair<Dtype, int64_t> parse_dtype(const std::string& name) {
  if (name == "fp32") {
    return {Dtype::fp32, 4};
  }
  if (name == "fp16") {
    return {Dtype::fp16, 2};
  }
  if (name == "bf16") {
    return {Dtype::bf16, 2};
  }
  throw BadRequest("unknown dtype " + name);
}

HashFill parse_hash(const nlohmann::json& hash, const BufferSpec& spec) {
  const auto [dtype, element_bytes] = parse_dtype(hash.at("dtype").get<std::string>());
  if (element_bytes != spec.element_bytes) {
    throw BadRequest("the elements of " + spec.name + " are not of the dtype it is filled with");
  }
  return {hash.at("seed").get<uint64_t>(), hash.at("mean").get<float>(),
          hash.at("scale").get<float>(), dtype};
}

Fill parse_fill(const nlohmann::json& fill, const BufferSpec& spec,
                const std::vector<Blob>& blobs) {
  if (fill.contains("hash")) {
    return parse_hash(fill.at("hash"), spec);
  }
  if (fill.contains("byte")) {
    return byte_of(fill.at("byte").get<unsigned>());
  }
  const auto index = fill.at("blob").get<size_t>();
  if (index >= blobs.size()) {
    throw BadRequest("there is no blob for " + spec.name);
  }
  if (blobs[index].size() != static_cast<size_t>(spec.rows) * spec.row_bytes()) {
    throw BadRequest("the blob for " + spec.name + " is not of rows * cols elements");
  }
  return &blobs[index];
}

void check_extent(const BufferSpec& spec) {
  if (spec.element_bytes < 1 || spec.element_bytes > 16) {
    throw BadRequest("the elements of " + spec.name + " are not of 1 to 16 bytes");
  }
  if (spec.stride < spec.cols) {
    throw BadRequest("the rows of " + spec.name + " overlap: its stride is less than its cols");
  }
  if (spec.rows > 0 && spec.stride > kMostElements / spec.rows) {
    throw BadRequest("the buffer " + spec.name + " is too large");
  }
}

BufferSpec parse_buffer(const nlohmann::json& buffer, const std::vector<Blob>& blobs) {
  BufferSpec spec;
  spec.name = buffer.at("name").get<std::string>();
  spec.is_null = buffer.value("null", false);
  if (spec.is_null) {
    spec.over = buffer.value("over", "");
    return spec;
  }
  spec.rows = count_at(buffer, "rows");
  spec.cols = count_at(buffer, "cols");
  spec.stride = buffer.contains("stride") ? count_at(buffer, "stride") : spec.cols;
  spec.element_bytes = count_at(buffer, "element_bytes");
  spec.offset = buffer.contains("offset") ? count_at(buffer, "offset") : 0;
  check_extent(spec);
  const auto role = buffer.at("role").get<std::string>();
  if (role != "input" && role != "output") {
    throw BadRequest("the role of " + spec.name + " is neither input nor output");
  }
  spec.is_output = role == "output";
  spec.send_back = buffer.value("return", true);
  spec.padding = byte_of(buffer.value("padding", spec.is_output ? kOutputPadding : kInputPadding));
  spec.fill = parse_fill(buffer.at("fill"), spec, blobs);
  return spec;
}

}  // namespace

CallRequest parse_call(const Message& message) {
  const nlohmann::json& body = message.body;
  CallRequest request;
  request.function = body.at("function").get<std::string>();
  request.dtype = body.at("dtype").get<std::string>();
  request.scalars = body.at("scalars").get<std::map<std::string, double>>();
  for (const nlohmann::json& buffer : body.at("buffers")) {
    request.buffers.push_back(parse_buffer(buffer, message.blobs));
  }
  request.time_limit_s = body.value("time_limit_s", 10.0);
  if (!(request.time_limit_s > 0)) {
    throw BadRequest("the time limit is no positive number");
  }
  request.lines = body.value("lines", false);
  if (body.contains("trace")) {
    request.trace = static_cast<size_t>(count_at(body, "trace", kMostTraced));
  }
  return request;
}

}  // namespace onepass::worker
