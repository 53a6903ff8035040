// Exercises 2.2 and 2.4: what comes out where a total does not reach all threads of a block.
// Each thread goes on with what it holds, so each column is scaled by its own thread's numbers.
#include <optional>

#include "chapters/common/thread_sums.h"
#include "chapters/layernorm/calls.h"
#include "chapters/layernorm/mistakes.h"

namespace onepass::layernorm {

using common::ThreadSums;
using verdict::Oracle;

namespace {

/// Which columns a thread has: packs of so many, one after the other.
struct Columns {
  std::int64_t threads, pack;

  std::size_t thread_of(std::int64_t col) const {
    return static_cast<std::size_t>(col / pack % threads);
  }
};

/// What each thread takes for the mean of a row; terms(col, thread) are those that it adds up.
template <typename Terms>
std::vector<double> means_held(const ThreadSums& sums, const Columns& columns, std::int64_t cols,
                               Terms terms) {
  std::vector<double> shares(static_cast<std::size_t>(columns.threads), 0.0);
  for (std::int64_t col = 0; col < cols; ++col) {
    const std::size_t thread = columns.thread_of(col);
    shares[thread] += terms(col, thread);
  }
  std::vector<double> held = sums.reduce(shares);
  for (double& mean : held) {
    mean /= static_cast<double>(cols);
  }
  return held;
}

Field dx_with(const Case& call, const ThreadSums& sums, const Columns& columns) {
  const Field wdy = wdy_of(call);
  const Field x_hat = x_hat_of(call);
  const Field rstd = call.values("rstd").field();
  Field dx(wdy.rows, wdy.cols);
  for (std::int64_t row = 0; row < wdy.rows; ++row) {
    const std::vector<double> mean_wdy = means_held(
        sums, columns, wdy.cols, [&](std::int64_t col, std::size_t) { return wdy(row, col); });
    const std::vector<double> mean_wdy_hat =
        means_held(sums, columns, wdy.cols,
                   [&](std::int64_t col, std::size_t) { return wdy(row, col) * x_hat(row, col); });
    for (std::int64_t col = 0; col < wdy.cols; ++col) {
      const std::size_t thread = columns.thread_of(col);
      dx(row, col) = rstd(row, 0) *
                     (wdy(row, col) - mean_wdy[thread] - x_hat(row, col) * mean_wdy_hat[thread]);
    }
  }
  return dx;
}

/// result(call, output, sums, columns) for every usual number of threads, with single columns and
/// with packs of 16 bytes.
template <typename Result>
void append_each(std::vector<Oracle>& all, Result result) {
  for (const auto& mistake : common::thread_sums()) {
    for (const auto& way : mistake.ways) {
      for (bool packs : {false, true}) {
        all.push_back({mistake.id, way.sentence,
                       [=](const Case& call, const std::string& output) -> std::optional<Field> {
                         const auto pack =
                             packs ? static_cast<std::int64_t>(16 / verdict::size_of(call.dtype()))
                                   : 1;
                         if (call.integer("cols") % pack != 0) {
                           return std::nullopt;
                         }
                         return result(call, output, way.hooks, Columns{way.hooks.threads, pack});
                       }});
      }
    }
  }
}

}  // namespace

void append_dx_thread_mistakes(std::vector<Oracle>& all) {
  append_each(all,
              [](const Case& call, const std::string& output, const ThreadSums& sums,
                 const Columns& columns) -> std::optional<Field> {
                if (output != "dx") {
                  return std::nullopt;
                }
                return dx_with(call, sums, columns);
              });
}

}  // namespace onepass::layernorm
