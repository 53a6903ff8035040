// The check of a timed call: some rows of what it wrote, against the reference.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "verdict/measure/bandwidth.h"

namespace onepass::verdict {

/// The call as it was at `generation` (protocol.h), with the given rows only: buffers with as many
/// rows as the call hold those, others are whole.
Case sampled_call(const Case& call, std::uint64_t generation,
                  const std::vector<std::int64_t>& rows);

/// Fetches rows of the worker's last timed call and compares them. Empty if they are right, else a
/// sentence.
std::string verify_rows(WorkerClient& worker, const Case& call, std::uint64_t generation,
                        std::uint64_t seed, const Verify& verify);

}  // namespace onepass::verdict
