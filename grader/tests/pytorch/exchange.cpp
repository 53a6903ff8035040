// The files that are exchanged with torch_outputs.py.
#include "tests/pytorch/exchange.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

namespace onepass::agreement {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;
using verdict::Buffer;
using verdict::Case;
using verdict::Field;
using verdict::Matrix;

static_assert(std::endian::native == std::endian::little);

std::ofstream open_to_write(const fs::path& file) {
  std::ofstream stream(file, std::ios::binary);
  if (!stream) {
    throw BadExchange(file.string() + " cannot be written.");
  }
  return stream;
}

std::ifstream open_to_read(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) {
    throw BadExchange(file.string() + " cannot be read.");
  }
  return stream;
}

json read_json(const fs::path& file) {
  try {
    return json::parse(open_to_read(file));
  } catch (const json::exception& error) {
    throw BadExchange(fmt::format("{} is no JSON: {}", file.string(), error.what()));
  }
}

/// What a case is to a reader that knows only files; its inputs go to `inputs`.
json written(const Subject& subject, const Case& call, std::ofstream& inputs) {
  json tensors = json::array();
  for (const Buffer& buffer : call.buffers()) {
    if (buffer.null || buffer.role == verdict::Role::output) {
      continue;
    }
    const auto at = static_cast<std::int64_t>(inputs.tellp());
    tensors.push_back({{"name", buffer.name},
                       {"dtype", verdict::name(buffer.dtype)},
                       {"rows", buffer.rows},
                       {"cols", buffer.cols},
                       {"stride", buffer.stride()},
                       {"offset", buffer.layout.offset},
                       {"at", at}});
    const std::vector<std::byte>& bytes = buffer.values.bytes();
    inputs.write(reinterpret_cast<const char*>(bytes.data()),
                 static_cast<std::streamsize>(bytes.size()));
  }
  json scalars = json::object();
  for (const auto& [name, value] : call.scalars()) {
    std::visit([&, &key = name](auto number) { scalars[key] = number; }, value);
  }
  json outputs = json::array();
  for (const verdict::Expectation& expectation : subject.expected(call)) {
    outputs.push_back(expectation.output);
  }
  return {{"exercise", subject.exercise},
          {"dtype", verdict::name(call.dtype())},
          {"scalars", scalars},
          {"tensors", tensors},
          {"outputs", outputs}};
}

}  // namespace

void write_cases(const Plan& plan, const fs::path& folder) {
  fs::create_directories(folder);
  std::ofstream inputs = open_to_write(folder / "inputs.bin");
  json cases = json::array();
  for (std::int64_t number = 0; number < plan.size(); ++number) {
    cases.push_back(written(plan.subject(number), plan.draw(number), inputs));
  }
  std::ofstream index = open_to_write(folder / "cases.json");
  index << json{{"seed", plan.seed}, {"each", plan.each}, {"cases", cases}}.dump();
  if (!inputs.flush() || !index.flush()) {
    throw BadExchange(folder.string() + " has no room for the cases.");
  }
}

Outputs::Outputs(const fs::path& folder) : file_(folder / "outputs.bin") {
  const json cases = read_json(folder / "cases.json");
  const json outputs = read_json(folder / "outputs.json");
  try {
    plan_ = {cases.at("seed"), cases.at("each")};
    about_ = {outputs.at("torch"), outputs.at("cuda"), outputs.at("device"), outputs.at("date")};
    for (const json& one : outputs.at("outputs")) {
      const Record record{one.at("by"),   one.at("computed_in"), one.at("dtype"),
                          one.at("rows"), one.at("cols"),        one.at("at")};
      records_[{one.at("case"), one.at("output")}].push_back(record);
    }
  } catch (const json::exception& error) {
    throw BadExchange(fmt::format("{} is not as it should be: {}", folder.string(), error.what()));
  }
}

std::vector<std::byte> Outputs::bytes_of(const Record& record, std::int64_t element_bytes) const {
  std::vector<std::byte> bytes(static_cast<std::size_t>(record.rows * record.cols * element_bytes));
  std::ifstream stream = open_to_read(file_);
  stream.seekg(record.at);
  if (!stream.read(reinterpret_cast<char*>(bytes.data()),
                   static_cast<std::streamsize>(bytes.size()))) {
    throw BadExchange(file_.string() + " ends too early: run torch_outputs.py again.");
  }
  return bytes;
}

std::vector<Computed> Outputs::computed(std::int64_t number, const std::string& output) const {
  std::vector<Computed> all;
  const auto found = records_.find({number, output});
  if (found == records_.end()) {
    return all;
  }
  for (const Record& record : found->second) {
    if (record.dtype == "fp64") {
      Field field(record.rows, record.cols);
      const std::vector<std::byte> bytes = bytes_of(record, sizeof(double));
      std::memcpy(field.values.data(), bytes.data(), bytes.size());
      all.push_back({record.by, record.computed_in, std::move(field)});
    } else {
      const verdict::Dtype dtype = verdict::dtype_named(record.dtype);
      const auto element_bytes = static_cast<std::int64_t>(verdict::size_of(dtype));
      Matrix matrix(dtype, record.rows, record.cols, bytes_of(record, element_bytes));
      all.push_back({record.by, record.computed_in, std::move(matrix)});
    }
  }
  return all;
}

}  // namespace onepass::agreement
