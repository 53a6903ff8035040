#include "verdict/measure/verify_sample.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "verdict/compare.h"
#include "verdict/contract/call.h"
#include "verdict/values/random.h"
#include "wire/json.h"
#include "worker/hash_fill.h"

namespace onepass::verdict {
namespace {

using contract::Tensor;
using Numbers = std::vector<std::int64_t>;  // of rows or columns, in ascending order

constexpr std::uint64_t kDrawn = 8;
constexpr double kFetchLimit = 30.0;  // seconds

Numbers draw(std::int64_t count, std::uint64_t seed, const char* stream) {
  Numbers drawn = {0, count - 1};  // the ends, and some between
  const Random random = Random(seed).stream(stream);
  for (std::uint64_t i = 0; i < kDrawn; ++i) {
    drawn.push_back(random.integer(i, 0, count - 1));
  }
  std::sort(drawn.begin(), drawn.end());
  drawn.erase(std::unique(drawn.begin(), drawn.end()), drawn.end());
  return drawn;
}

Numbers all(std::int64_t count) {
  Numbers numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

/// The listed rows and columns of a matrix whose element (row, col) is at(row, col).
template <typename At>
Matrix part(Dtype dtype, const Numbers& rows, const Numbers& cols, At at) {
  return matrix_of(dtype, std::ssize(rows), std::ssize(cols), [&](auto i, auto j) {
    return at(rows[static_cast<std::size_t>(i)], cols[static_cast<std::size_t>(j)]);
  });
}

Matrix part(const Matrix& whole, const Numbers& rows, const Numbers& cols) {
  return part(whole.dtype(), rows, cols, [&](auto row, auto col) { return whole.get(row, col); });
}

/// The listed rows and columns of a buffer, as it was before the call.
Buffer sample_of(Buffer whole, Generation generation, const Numbers& rows, const Numbers& cols) {
  Buffer sampled = {.name = whole.name,
                    .role = whole.role == Role::output ? Role::output : Role::input,
                    .dtype = whole.dtype,
                    .rows = std::ssize(rows),
                    .cols = std::ssize(cols)};
  if (whole.hash && generation) {
    whole.hash->seed = worker::fill_seed(whole.hash->seed, *generation);
  }
  if (sampled.role == Role::input) {
    sampled.values =
        part(whole.dtype, rows, cols, [&](auto row, auto col) { return whole.before(row, col); });
  }
  return sampled;
}

const Tensor& tensor_of(const Case& call, const Buffer& buffer) {
  const Tensor* tensor = contract::tensor_of(call, buffer.name);
  return tensor == nullptr ? throw std::logic_error(buffer.name + " is not described") : *tensor;
}

/// How many rows or columns an extent is in this call: as many as a tensor has whose extent it is.
std::int64_t count_of(const Case& call, Side side, const contract::Extent& extent) {
  for (const Buffer& buffer : call.buffers()) {
    if (!buffer.null && tensor_of(call, buffer).*side == extent) {
      return side == &Tensor::rows ? buffer.rows : buffer.cols;
    }
  }
  throw std::logic_error("no tensor has what is to be sampled");
}

Numbers below(std::int64_t end, const Numbers& numbers) {
  return {numbers.begin(), std::lower_bound(numbers.begin(), numbers.end(), end)};
}

/// Rows and columns of an output as the call left them.
using Fetched =
    std::function<Matrix(const Buffer& output, const Numbers& rows, const Numbers& cols)>;

/// What came back of a buffer.
Matrix fetched(const Reply& reply, const Buffer& buffer, const Numbers& rows) {
  const auto buffers =
      wire::read<std::vector<wire::FetchedBuffer>>(reply.message.body.at("content"));
  for (const wire::FetchedBuffer& entry : buffers) {
    if (entry.name == buffer.name) {
      if (entry.rows != rows) {
        throw std::runtime_error("other rows came back");
      }
      return Matrix(buffer.dtype, std::ssize(rows), buffer.cols,
                    reply.message.blobs.at(entry.blob));
    }
  }
  throw std::runtime_error("a buffer is missing");
}

/// The first output that is wrong: "y[3][0] = 1, expected 2". Empty if all are right in the listed
/// columns, or in all without a list, of those of the listed rows that they have.
std::string first_difference(const Case& call, const std::vector<Expectation>& expectations,
                             const Numbers& asked, const std::optional<Numbers>& asked_cols,
                             const Fetched& outputs) {
  for (const Expectation& expected : expectations) {
    const Buffer& output = call.buffer(expected.output);
    const Numbers rows = below(output.rows, asked);
    const Numbers cols = asked_cols.value_or(all(output.cols));
    const Matrix got = outputs(output, rows, cols);
    const Comparison comparison = compare(got, expected.value, expected.bound, std::nullopt);
    if (!comparison.right()) {
      const Index worst{rows[static_cast<std::size_t>(comparison.worst.row)],
                        cols[static_cast<std::size_t>(comparison.worst.col)]};
      return fmt::format("{} = {}, expected {}", element_name(expected.output, got, worst),
                         show(comparison.got, comparison.expected),
                         show(comparison.expected, comparison.got));
    }
  }
  return "";
}

/// The same of all that is expected.
std::string first_difference(const Case& call, Generation generation, std::uint64_t seed,
                             const Numbers& rows, const Measurement& expected,
                             const Fetched& outputs) {
  const Case of_rows = sample_of(call, generation, &Tensor::rows, expected.sampled_rows, rows);
  const std::string wrong =
      first_difference(call, expected.expectations(of_rows, rows), rows, std::nullopt, outputs);
  if (!wrong.empty() || !expected.column_sums) {
    return wrong;
  }
  // Sums down the columns have one row, the first, which is among the drawn ones.
  const Numbers cols = draw(count_of(call, &Tensor::cols, "cols"), seed, "columns of a timed call");
  const Case of_cols = sample_of(call, generation, &Tensor::cols, "cols", cols);
  return first_difference(call, expected.column_sums(of_cols), rows, cols, outputs);
}

Numbers drawn_rows(const Case& call, std::uint64_t seed, const Measurement& measurement) {
  return draw(count_of(call, &Tensor::rows, measurement.sampled_rows), seed,
              "rows of a timed call");
}

}  // namespace

Case sample_of(const Case& call, Generation generation, Side side, const contract::Extent& extent,
               const Numbers& numbers) {
  std::vector<Buffer> buffers;
  for (const Buffer& buffer : call.buffers()) {
    const auto taken = [&](Side own, std::int64_t count) {
      return own == side && tensor_of(call, buffer).*own == extent ? numbers : all(count);
    };
    buffers.push_back(buffer.null ? buffer
                                  : sample_of(buffer, generation, taken(&Tensor::rows, buffer.rows),
                                              taken(&Tensor::cols, buffer.cols)));
  }
  return call.with(std::move(buffers));
}

std::string verify_sample(WorkerClient& worker, const Case& call, std::uint64_t generation,
                          std::uint64_t seed, const Measurement& measurement) {
  const Numbers drawn = drawn_rows(call, seed, measurement);
  const Reply reply = worker.fetch(drawn, kFetchLimit);
  if (reply.outcome != Outcome::ok) {
    return reply.error;
  }
  try {
    const auto outputs = [&](const Buffer& output, const Numbers& rows, const Numbers& cols) {
      return part(fetched(reply, output, rows), all(std::ssize(rows)), cols);
    };
    const std::string wrong = first_difference(call, generation, seed, drawn, measurement, outputs);
    return wrong.empty() ? "" : "a timed call gave " + wrong;
  } catch (const std::exception& error) {
    return error.what();
  }
}

std::string verify_answer(const Answer& answer, const Case& call, std::uint64_t seed,
                          const Measurement& measurement) {
  const auto outputs = [&](const Buffer& output, const Numbers& rows, const Numbers& cols) {
    return part(answer[output.name], rows, cols);
  };
  const std::string wrong = first_difference(
      call, std::nullopt, seed, drawn_rows(call, seed, measurement), measurement, outputs);
  return wrong.empty() ? "" : "the call gave " + wrong;
}

}  // namespace onepass::verdict
