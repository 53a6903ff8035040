// The check of a measured call: a sample of what it wrote, against the reference. Of outputs that
// belong to rows some rows are looked at, of sums down the columns some columns.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "verdict/case.h"
#include "verdict/session/chapter.h"
#include "verdict/worker/worker_client.h"

namespace onepass::verdict {

/// The contents of a timed call's inputs (protocol.h). A call that is only run has none: its inputs
/// are what the case says.
using Generation = std::optional<std::uint64_t>;

/// &Tensor::rows or &Tensor::cols.
using Side = contract::Extent contract::Tensor::*;

/// The call, one of contract::call(), as it was at `generation`, with the given rows or columns of
/// `extent` only: tensors with that many, by the function's description, hold those; others are
/// whole.
Case sample_of(const Case& call, Generation generation, Side side, const contract::Extent& extent,
               const std::vector<std::int64_t>& numbers);

/// Fetches rows of the worker's last timed call and compares them with what the exercise expects of
/// such a call. Empty if they are right, else a sentence.
std::string verify_sample(WorkerClient& worker, const Case& call, std::uint64_t generation,
                          std::uint64_t seed, const Measurement& measurement);

/// The same of a call that was run to its end.
std::string verify_answer(const Answer& answer, const Case& call, std::uint64_t seed,
                          const Measurement& measurement);

}  // namespace onepass::verdict
