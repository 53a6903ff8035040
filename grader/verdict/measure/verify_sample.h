// The check of a measured call: a sample of what it wrote, against the reference. Of outputs that
// belong to rows some rows are looked at, of sums down the columns some columns.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "verdict/case.h"
#include "verdict/contract/function.h"
#include "verdict/session/session.h"
#include "verdict/worker/worker_client.h"

namespace onepass::verdict {

/// The contents of a timed call's inputs (protocol.h). A call that is only run has none: its inputs
/// are what the case says.
using Generation = std::optional<std::uint64_t>;

/// What the outputs of a measured call must be (Measurement in session/chapter.h).
struct Verify {
  contract::Extent sampled_rows = "rows";
  std::function<std::vector<Expectation>(const Case& sampled,
                                         const std::vector<std::int64_t>& rows)>
      rows;
  contract::Extent sampled_cols = "cols";
  std::function<std::vector<Expectation>(const Case& sampled)> columns;  // may be empty
};

/// The call, one of contract::call(), as it was at `generation`, with the given numbers of `extent`
/// only: tensors with that many rows, by the function's description, hold those; others are whole.
Case sample_of_rows(const Case& call, Generation generation, const contract::Extent& extent,
                    const std::vector<std::int64_t>& rows);

/// The same of columns, with all rows.
Case sample_of_columns(const Case& call, Generation generation, const contract::Extent& extent,
                       const std::vector<std::int64_t>& cols);

/// Fetches rows of the worker's last timed call and compares them. Empty if they are right, else a
/// sentence.
std::string verify_sample(WorkerClient& worker, const Case& call, std::uint64_t generation,
                          std::uint64_t seed, const Verify& verify);

/// The same of a call that was run to its end.
std::string verify_answer(const Answer& answer, const Case& call, std::uint64_t seed,
                          const Verify& verify);

}  // namespace onepass::verdict
