// The CPU device, as the program that hosts it sees it: device memory with exact bounds and names,
// limits, and what the last launches did wrong and moved.
//
// Kernels reach it by launching (the rewritten <<<...>>> calls into device_calls.h) and by the CUDA
// runtime functions. One launch runs at a time, on the calling thread, to its end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "access_type.h"

namespace simulator {

// ---- Findings -------------------------------------------------------------------------------

enum class Kind {
  out_of_bounds_global,
  out_of_bounds_shared,
  out_of_bounds_local,
  use_after_free,
  null_pointer,
  host_pointer,    // a kernel uses the address of host memory
  device_pointer,  // host code uses the address of device memory
  misaligned,
  uninitialised_shared,
  uninitialised_global,
  barrier_divergence,
  early_return,
  deadlock,
  bad_warp_mask,
  inactive_lane_read,
  endless_loop,
  stack_overflow,
  invalid_launch,
  assertion,
  trap,
  shared_race,
  global_race,
};

/// The kind's name in messages and files, for instance "out-of-bounds-global".
const char* kind_name(Kind kind);

struct Dim3 {
  unsigned x = 0, y = 0, z = 0;
};

/// One thread's part in a finding: what it did, and where.
struct Party {
  std::string action;  // "writes 4 bytes", "waits at __syncthreads()"
  std::string file;    // as the compiler was given it; empty if unknown
  int line = 0;        // 0 if unknown
  Dim3 thread, block;
  int warp = 0, lane = 0;
};

struct Finding {
  Kind kind;
  std::string kernel;
  std::string message;  // one or two sentences, without the parties' places
  bool warning = false;
  std::vector<Party> parties = {};  // none for an invalid launch
  std::string buffer = {};          // the name of the memory concerned, "" if none
  std::int64_t index = -1;          // the element of that buffer, -1 if none
};

/// The findings since the last call, at most 16: one for each kind and pair of lines.
std::vector<Finding> take_findings();

// ---- Traffic --------------------------------------------------------------------------------

/// What the accesses at one line of source cost, of one kind and to one buffer.
///
/// A request is one load, store or atomic of the active lanes of one warp. Global memory moves in
/// sectors of 32 bytes: a request costs as many as its lanes touch. Shared memory has 32 banks of 4
/// bytes, each of which serves one word at a time: a request costs as many wavefronts as the
/// busiest bank has words to serve.
struct LineTraffic {
  std::string file;  // as the compiler was given it; empty if unknown
  int line = 0;      // 0 if unknown
  MemorySpace space = MemorySpace::global;
  AccessType type = AccessType::read;
  std::string buffer;  // the device memory's label, or the __shared__ variable
  std::uint64_t requests = 0;
  std::uint64_t lanes = 0;             // active ones, summed over the requests
  std::uint64_t bytes = 0;             // that differ within a request, summed over the requests
  std::uint64_t units = 0;             // sectors (global) or wavefronts (shared)
  std::uint64_t least_units = 0;       // had the bytes of each request lain side by side
  std::uint64_t distinct_sectors = 0;  // global: each once, however often the line requests it
  unsigned lane_bytes = 0;             // of one lane's access, in the first costliest request
  std::int64_t lane_distance = 0;      // there, bytes from one lane's address to the next lane's; 0
                                       // if they vary
};

/// What one launch moved.
struct LaunchTraffic {
  std::string kernel;
  Dim3 grid, block;
  std::uint64_t read_bytes = 0;  // of global memory, as the lanes ask for them
  std::uint64_t written_bytes = 0;
  // On demand (count_requests()):
  std::uint64_t read_sectors = 0;  // of global memory, each once however often it is requested
  std::uint64_t written_sectors = 0;
  std::vector<LineTraffic> lines;  // in the order of file and line; see count_requests()
};

/// Whether launches count requests, by line of source. They do from the start; without, they are
/// faster, and only bytes are counted.
void count_requests(bool wanted);

/// The launches since the last call, in order. A launch that failed counts up to its failure; one
/// that was refused is not listed.
std::vector<LaunchTraffic> take_traffic();

/// One request, for a map of accesses.
struct TracedRequest {
  std::uint64_t block = 0;  // its number in the grid, x fastest
  int warp = 0;
  std::uint32_t step = 0;               // its number among the requests of its warp
  int line = 0;                         // index into LaunchTraffic::lines
  unsigned lanes = 0;                   // mask of the active ones
  unsigned bytes = 0;                   // of one lane's access
  unsigned units = 0, least_units = 0;  // as in LineTraffic
  std::int64_t offsets[32] = {};        // bytes from the buffer's start, of the active lanes
};

/// Keeps the first `most` requests of each launch from now on; 0, the default, keeps none.
void trace_requests(std::size_t most);

/// The requests kept since the last call, one list for each launch that take_traffic() gives, in
/// the order of block, warp and step.
std::vector<std::vector<TracedRequest>> take_trace();

// ---- Device memory --------------------------------------------------------------------------

/// How messages speak of a buffer: x[3][1000] needs the name, the element and the rows' distance.
struct Label {
  std::string name;
  std::size_t element_bytes = 1;
  std::int64_t cols = 0;    // 0: one dimension
  std::int64_t stride = 0;  // elements from one row to the next
};

/// Device memory of exactly `bytes` bytes, uninitialised, at `offset` bytes past an address that is
/// a multiple of 4096 (0 for an aligned buffer). Pages that nobody touches cost nothing.
/// nullptr if bytes is 0 or the device is full.
void* allocate(std::size_t bytes, std::size_t offset, const Label& label);
void release(void* device);

/// Copies into device memory, and counts it as initialised from then on.
void upload(void* device, const void* host, std::size_t bytes);
void download(void* host, const void* device, std::size_t bytes);

/// Says what reads of these bytes mean: a kernel's read of uninitialised bytes is a finding.
/// Memory starts uninitialised; the host may write a poison pattern with memset() and leave it so.
void mark_initialised(void* device, std::size_t bytes, bool initialised = true);

// ---- Limits and errors ----------------------------------------------------------------------

/// CPU seconds that one launch may take before it is stopped as endless. 10 at the start.
void set_time_limit(double cpu_seconds_per_launch);

/// Forgets the error of a failed launch, and findings and traffic not yet taken. (On a GPU such an
/// error ends the process's use of the device.)
void reset();

/// What `name` and `memory` the device has, for a report.
struct DeviceFacts {
  std::string name;
  std::size_t memory_bytes;
  int multiprocessors;
};
DeviceFacts device_facts();

}  // namespace simulator
