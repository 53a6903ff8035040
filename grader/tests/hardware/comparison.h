// What one launch moved, by the simulator's count and by the counters of a GPU.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace onepass::hardware {

/// What both count. In this order in tables.
struct Counts {
  std::int64_t load_requests = 0, load_sectors = 0;  // of warps, to global memory
  std::int64_t store_requests = 0, store_sectors = 0;
  std::int64_t atomic_requests = 0, atomic_sectors = 0;
  std::int64_t shared_load_wavefronts = 0, shared_store_wavefronts = 0;
  std::int64_t bulk_read_sectors = 0, bulk_written_sectors = 0;    // by bulk copies
  std::int64_t distributed_requests = 0, distributed_sectors = 0;  // to other blocks' shared memory
  // Distinct sectors times 32 by the simulator; what the memory chips moved on the GPU.
  std::int64_t memory_read_bytes = 0, memory_written_bytes = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Counts, load_requests, load_sectors, store_requests,
                                   store_sectors, atomic_requests, atomic_sectors,
                                   shared_load_wavefronts, shared_store_wavefronts,
                                   bulk_read_sectors, bulk_written_sectors, distributed_requests,
                                   distributed_sectors, memory_read_bytes, memory_written_bytes)

struct Comparison {
  std::string subject;  // "rmsnorm/forward, solution"
  std::string call;     // "64 x 4096 fp32"
  std::string kernel;
  Counts simulator, gpu;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Comparison, subject, call, kernel, simulator, gpu)

struct Launch {
  std::string kernel;
  Counts counts;
};

/// The launches of each reply in a file that a worker of the simulator wrote. Throws
/// std::runtime_error for what is no such file, and for a call that failed.
std::vector<std::vector<Launch>> read_replies(const std::string& file);

/// The kind of what the simulator found first in those calls, or "-". Throws likewise.
std::string first_finding(const std::string& file);

/// The launches in a table of Nsight Compute (--csv --page raw --print-units base), without those
/// of the worker itself.
std::vector<Launch> read_profile(const std::string& file);

/// True if requests, sectors and wavefronts are the same.
bool agrees(const Comparison& one);

/// As Markdown: how many launches agree; the micro-kernels, launch by launch, those of
/// micro_fast.cu in a table of their own; how many launches of each solution and naive version
/// agree; those that do not; and what the solutions' largest launches moved to and from the memory
/// itself. Where the two differ it says "simulator / GPU".
std::string tables(const std::vector<Comparison>& all);

}  // namespace onepass::hardware
