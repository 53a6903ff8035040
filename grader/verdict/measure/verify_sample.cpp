#include "verdict/measure/verify_sample.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <numeric>
#include <stdexcept>

#include "verdict/compare.h"
#include "verdict/values/random.h"
#include "wire/json.h"
#include "worker/hash_fill.h"

namespace onepass::verdict {
namespace {

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
  Matrix result(dtype, static_cast<std::int64_t>(rows.size()),
                static_cast<std::int64_t>(cols.size()));
  for (std::int64_t i = 0; i < result.rows(); ++i) {
    for (std::int64_t j = 0; j < result.cols(); ++j) {
      result.set(i, j, at(rows[static_cast<std::size_t>(i)], cols[static_cast<std::size_t>(j)]));
    }
  }
  return result;
}

/// The same of a buffer, as it was before the call.
Matrix contents(const Buffer& buffer, Generation generation, const Numbers& rows,
                const Numbers& cols) {
  if (!buffer.hash) {
    return part(buffer.dtype, rows, cols,
                [&](std::int64_t row, std::int64_t col) { return buffer.values.get(row, col); });
  }
  const std::uint64_t seed =
      generation ? worker::fill_seed(buffer.hash->seed, *generation) : buffer.hash->seed;
  return part(buffer.dtype, rows, cols, [&](std::int64_t row, std::int64_t col) {
    return worker::hash_value(seed, static_cast<std::uint64_t>(row * buffer.cols + col),
                              static_cast<float>(buffer.hash->mean),
                              static_cast<float>(buffer.hash->scale));
  });
}

/// The call with the rows and columns of each buffer that the two functions pick.
template <typename Rows, typename Cols>
Case sample(const Case& call, Generation generation, Rows rows_of, Cols cols_of) {
  Case sampled(call.function(), call.dtype(), call.contract());
  for (const auto& [name, value] : call.scalars()) {
    if (std::holds_alternative<std::int64_t>(value)) {
      sampled.integer(name, std::get<std::int64_t>(value));
    } else {
      sampled.real(name, std::get<double>(value));
    }
  }
  for (const Buffer& buffer : call.buffers()) {
    if (buffer.null) {
      sampled.null(buffer.name, buffer.role, buffer.dtype, buffer.over);
      continue;
    }
    const Numbers rows = rows_of(buffer);
    const Numbers cols = cols_of(buffer);
    if (buffer.role == Role::output) {
      sampled.output(buffer.name, buffer.dtype, static_cast<std::int64_t>(rows.size()),
                     static_cast<std::int64_t>(cols.size()));
    } else {
      sampled.input(buffer.name, contents(buffer, generation, rows, cols));
    }
  }
  return sampled;
}

const contract::Tensor& tensor_of(const Case& call, const Buffer& buffer) {
  const contract::Tensor* tensor =
      call.contract() == nullptr ? nullptr : call.contract()->find(buffer.name);
  return tensor == nullptr ? throw std::logic_error(buffer.name + " is not described") : *tensor;
}

/// How many rows or columns an extent is in this call: as many as a tensor has whose extent it is.
std::int64_t count_of(const Case& call, const contract::Extent& extent,
                      contract::Extent contract::Tensor::*side, std::int64_t Buffer::*count) {
  for (const Buffer& buffer : call.buffers()) {
    if (!buffer.null && tensor_of(call, buffer).*side == extent) {
      return buffer.*count;
    }
  }
  throw std::logic_error("no tensor has what is to be sampled");
}

Numbers all_rows(const Buffer& buffer) {
  return all(buffer.rows);
}

Numbers all_cols(const Buffer& buffer) {
  return all(buffer.cols);
}

Numbers below(std::int64_t end, const Numbers& numbers) {
  return {numbers.begin(), std::lower_bound(numbers.begin(), numbers.end(), end)};
}

/// Rows of an output as the call left them.
using Outputs = std::function<Matrix(const Buffer& output, const Numbers& rows)>;

/// What came back of a buffer.
Matrix fetched(const Reply& reply, const Buffer& buffer, const Numbers& rows) {
  const auto buffers =
      wire::read<std::vector<wire::FetchedBuffer>>(reply.message.body.at("content"));
  for (const wire::FetchedBuffer& entry : buffers) {
    if (entry.name == buffer.name) {
      if (entry.rows != rows) {
        throw std::runtime_error("other rows came back");
      }
      return Matrix(buffer.dtype, static_cast<std::int64_t>(rows.size()), buffer.cols,
                    reply.message.blobs.at(entry.blob));
    }
  }
  throw std::runtime_error("a buffer is missing");
}

/// Compares the listed columns of those of the listed rows that the output has. Empty if they are
/// right.
std::string difference(const Outputs& outputs, const Buffer& output, const Expectation& expected,
                       const Numbers& asked, const Numbers& cols) {
  const Numbers rows = below(output.rows, asked);
  const Matrix whole = outputs(output, rows);
  const Matrix got = part(output.dtype, all(whole.rows()), cols,
                          [&](std::int64_t row, std::int64_t col) { return whole.get(row, col); });
  const Comparison comparison = compare(got, expected.value, expected.bound, std::nullopt);
  if (comparison.right()) {
    return "";
  }
  const Index worst{rows[static_cast<std::size_t>(comparison.worst.row)],
                    cols[static_cast<std::size_t>(comparison.worst.col)]};
  return fmt::format("{} = {}, expected {}", element_name(expected.output, got, worst),
                     show(comparison.got), show(comparison.expected));
}

/// The first output that is wrong: "y[3][0] = 1, expected 2". Empty if all are right.
std::string first_difference(const Case& call, Generation generation, std::uint64_t seed,
                             const Numbers& rows, const Verify& verify, const Outputs& outputs) {
  const Case sampled = sample_of_rows(call, generation, verify.sampled_rows, rows);
  for (const Expectation& expected : verify.rows(sampled, rows)) {
    const Buffer& output = call.buffer(expected.output);
    const std::string wrong = difference(outputs, output, expected, rows, all_cols(output));
    if (!wrong.empty()) {
      return wrong;
    }
  }
  if (!verify.columns) {
    return "";
  }
  // Sums down the columns have one row, the first, which is among the drawn ones.
  const std::int64_t count =
      count_of(call, verify.sampled_cols, &contract::Tensor::cols, &Buffer::cols);
  const Numbers cols = draw(count, seed, "columns of a timed call");
  const Case of_cols = sample_of_columns(call, generation, verify.sampled_cols, cols);
  for (const Expectation& expected : verify.columns(of_cols)) {
    const std::string wrong =
        difference(outputs, call.buffer(expected.output), expected, rows, cols);
    if (!wrong.empty()) {
      return wrong;
    }
  }
  return "";
}

Numbers drawn_rows(const Case& call, std::uint64_t seed, const Verify& verify) {
  return draw(count_of(call, verify.sampled_rows, &contract::Tensor::rows, &Buffer::rows), seed,
              "rows of a timed call");
}

}  // namespace

Case sample_of_rows(const Case& call, Generation generation, const contract::Extent& extent,
                    const Numbers& rows) {
  return sample(
      call, generation,
      [&](const Buffer& buffer) {
        return tensor_of(call, buffer).rows == extent ? rows : all(buffer.rows);
      },
      all_cols);
}

Case sample_of_columns(const Case& call, Generation generation, const contract::Extent& extent,
                       const Numbers& cols) {
  return sample(call, generation, all_rows, [&](const Buffer& buffer) {
    return tensor_of(call, buffer).cols == extent ? cols : all(buffer.cols);
  });
}

std::string verify_sample(WorkerClient& worker, const Case& call, std::uint64_t generation,
                          std::uint64_t seed, const Verify& verify) {
  const Numbers rows = drawn_rows(call, seed, verify);
  const Reply reply = worker.fetch(rows, kFetchLimit);
  if (reply.outcome != Outcome::ok) {
    return reply.error;
  }
  try {
    const std::string wrong = first_difference(call, generation, seed, rows, verify,
                                               [&](const Buffer& output, const Numbers& numbers) {
                                                 return fetched(reply, output, numbers);
                                               });
    return wrong.empty() ? "" : "a timed call gave " + wrong;
  } catch (const std::exception& error) {
    return error.what();
  }
}

std::string verify_answer(const Answer& answer, const Case& call, std::uint64_t seed,
                          const Verify& verify) {
  const std::string wrong = first_difference(
      call, std::nullopt, seed, drawn_rows(call, seed, verify), verify,
      [&](const Buffer& output, const Numbers& rows) {
        const Matrix& whole = answer[output.name];
        return part(output.dtype, rows, all_cols(output),
                    [&](std::int64_t row, std::int64_t col) { return whole.get(row, col); });
      });
  return wrong.empty() ? "" : "the call gave " + wrong;
}

}  // namespace onepass::verdict
