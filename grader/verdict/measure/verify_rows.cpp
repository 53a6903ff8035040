#include "verdict/measure/verify_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <stdexcept>

#include "verdict/compare.h"
#include "verdict/values/random.h"
#include "worker/hash_fill.h"

namespace onepass::verdict {
namespace {

constexpr std::uint64_t kRows = 8;
constexpr double kFetchLimit = 30.0;  // seconds

std::vector<std::int64_t> draw_rows(std::int64_t rows, std::uint64_t seed) {
  std::vector<std::int64_t> drawn = {0, rows - 1};  // the ends, and some between
  const Random random = Random(seed).stream("rows of a timed call");
  for (std::uint64_t i = 0; i < kRows; ++i) {
    drawn.push_back(random.integer(i, 0, rows - 1));
  }
  std::sort(drawn.begin(), drawn.end());
  drawn.erase(std::unique(drawn.begin(), drawn.end()), drawn.end());
  return drawn;
}

/// The contents of the listed rows of a buffer, as they were before the call.
Matrix rows_of(const Buffer& buffer, std::uint64_t generation,
               const std::vector<std::int64_t>& rows) {
  if (!buffer.hash) {
    Matrix result(buffer.dtype, static_cast<std::int64_t>(rows.size()), buffer.cols);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      for (std::int64_t col = 0; col < buffer.cols; ++col) {
        result.set(static_cast<std::int64_t>(i), col, buffer.values.get(rows[i], col));
      }
    }
    return result;
  }
  const std::uint64_t seed = worker::fill_seed(buffer.hash.value().seed, generation);
  Matrix result(buffer.dtype, static_cast<std::int64_t>(rows.size()), buffer.cols);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::int64_t col = 0; col < buffer.cols; ++col) {
      const auto index = static_cast<std::uint64_t>(rows[i] * buffer.cols + col);
      result.set(static_cast<std::int64_t>(i), col,
                 worker::hash_value(seed, index, static_cast<float>(buffer.hash->mean),
                                    static_cast<float>(buffer.hash->scale)));
    }
  }
  return result;
}

std::vector<std::int64_t> all_rows(std::int64_t rows) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(rows));
  for (std::int64_t row = 0; row < rows; ++row) {
    all[static_cast<std::size_t>(row)] = row;
  }
  return all;
}

Matrix fetched(const Reply& reply, const Buffer& buffer, const std::vector<std::int64_t>& rows) {
  for (const nlohmann::json& entry : reply.message.body.at("buffers")) {
    if (entry.at("name") == buffer.name) {
      if (entry.at("rows") != nlohmann::json(rows)) {
        throw std::runtime_error("other rows came back");
      }
      return Matrix(buffer.dtype, static_cast<std::int64_t>(rows.size()), buffer.cols,
                    reply.message.blobs.at(entry.at("blob").get<std::size_t>()));
    }
  }
  throw std::runtime_error("a buffer is missing");
}

}  // namespace

Case sampled_call(const Case& call, std::uint64_t generation,
                  const std::vector<std::int64_t>& rows) {
  const std::int64_t call_rows = call.integer("rows");
  Case sampled(call.function(), call.dtype());
  for (const auto& [name, value] : call.scalars()) {
    if (std::holds_alternative<std::int64_t>(value)) {
      sampled.integer(name, std::get<std::int64_t>(value));
    } else {
      sampled.real(name, std::get<double>(value));
    }
  }
  for (const Buffer& buffer : call.buffers()) {
    const bool by_row = buffer.rows == call_rows;
    if (buffer.null) {
      sampled.null(buffer.name, buffer.role, buffer.dtype);
    } else if (buffer.role == Role::output) {
      sampled.output(buffer.name, buffer.dtype,
                     by_row ? static_cast<std::int64_t>(rows.size()) : buffer.rows, buffer.cols);
    } else {
      sampled.input(buffer.name,
                    rows_of(buffer, generation, by_row ? rows : all_rows(buffer.rows)));
    }
  }
  return sampled;
}

std::string verify_rows(WorkerClient& worker, const Case& call, std::uint64_t generation,
                        std::uint64_t seed, const Verify& verify) {
  const std::vector<std::int64_t> rows = draw_rows(call.integer("rows"), seed);
  const Reply reply = worker.fetch(rows, kFetchLimit);
  if (reply.outcome != Outcome::ok) {
    return reply.error;
  }
  const Case sampled = sampled_call(call, generation, rows);
  for (const Expectation& expectation : verify(sampled, rows)) {
    Matrix got;
    try {
      got = fetched(reply, sampled.buffer(expectation.output), rows);
    } catch (const std::exception& error) {
      return error.what();
    }
    const Comparison comparison = compare(got, expectation.value, expectation.bound, std::nullopt);
    if (!comparison.right()) {
      const Index worst{rows[static_cast<std::size_t>(comparison.worst.row)], comparison.worst.col};
      return fmt::format("a timed call gave {} = {}, expected {}",
                         element_name(expectation.output, got, worst), show(comparison.got),
                         show(comparison.expected));
    }
  }
  return "";
}

}  // namespace onepass::verdict
