// Effective bandwidth on a GPU: the least bytes that any kernel has to move, divided by the median
// time of a call, beside the naive version and a plain copy of as many bytes.
//
// All take turns, a few calls at a time, so that drift of the clock hits all alike. Each runs in a
// process of its own. Sampling goes on until every median is known to 0.5 %, within a limit of
// time. What the last timed call wrote is fetched and compared afterwards.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "verdict/case.h"
#include "verdict/measure/statistics.h"
#include "verdict/session/chapter.h"
#include "verdict/worker/worker_client.h"

namespace onepass::verdict {

/// One of those that are timed. The worker must be of a GPU.
struct Contestant {
  std::string name;  // "student", "naive", "copy"
  WorkerClient* worker;
  Case call;
};

struct Timing {
  std::string name;
  Statistics milliseconds;
  double gigabytes_per_second = 0.0;
};

struct Bandwidth {
  std::string error;            // a sentence if there is no result, and who is to blame for it
  std::vector<Timing> timings;  // in the order of the contestants
  std::string note;             // why not to trust the figures, or empty
};

/// A call that copies: half of `bytes` read, half written.
Case copy_call(std::int64_t bytes);

/// Bytes of device memory that all of them together prepare, besides scratch of their own.
double memory_needed(const std::vector<Contestant>& contestants);

/// `measurement` tells what the first contestant's outputs must be. `l2_bytes` of the device, 0 if
/// unknown.
Bandwidth measure_bandwidth(const std::vector<Contestant>& contestants,
                            const Measurement& measurement, std::int64_t least_bytes,
                            std::int64_t l2_bytes, std::uint64_t seed);

}  // namespace onepass::verdict
