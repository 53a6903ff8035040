// The CPU device, as the program that hosts it sees it: device memory with exact bounds and names,
// limits, and what the last launches did wrong and moved.
//
// Kernels reach it by launching (the rewritten <<<...>>> calls into device_calls.h) and by the CUDA
// runtime functions. One launch runs at a time, on the calling thread, to its end, unless work is
// held.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "block_order.h"
#include "observations.h"

namespace simulator {

// ---- Findings -------------------------------------------------------------------------------

/// The findings since the last call, at most 16: one for each kind and pair of lines.
std::vector<Finding> take_findings();

// ---- Traffic --------------------------------------------------------------------------------

/// Whether launches count requests, by line of source. They do from the start; without, they are
/// faster, and only bytes are counted.
void count_requests(bool wanted);

/// The launches since the last call, in order. A launch that failed counts up to its failure; one
/// that was refused is not listed.
std::vector<LaunchTraffic> take_traffic();

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
/// Several buffers share the allocation: this one has these bytes of it, or, if it has rows, some
/// of them. All are named, the one at the start too.
void name_part(void* first, std::size_t bytes, const Label& label);
void release(void* device);

/// Copies into device memory, and counts it as initialised from then on.
void upload(void* device, const void* host, std::size_t bytes);
void download(void* host, const void* device, std::size_t bytes);

/// Says what reads of these bytes mean: a kernel's read of uninitialised bytes is a finding.
/// Memory starts uninitialised; the host may write a poison pattern with memset() and leave it so.
void mark_initialised(void* device, std::size_t bytes, bool initialised = true);

// ---- The blocks of a launch -----------------------------------------------------------------

/// The order of the blocks of the next launches; rising at the start.
void set_block_order(BlockOrder order, std::uint64_t seed = 0);

/// Of the next launches, only a sample of so many blocks runs (blocks_of_sample()), spread evenly
/// over the grid, the first and the last among them (of one: that with which the order begins); 0,
/// as at the start: all. The launch itself is checked as a whole. That blocks of a sample wait for
/// others in vain is no finding; nor is, in launches behind the first that has more blocks, a read
/// of unwritten memory, for who should have written it may not have run. The blocks of a
/// cooperative launch wait for each other, so that all of them run.
void run_sample_of_blocks(std::uint64_t most);

/// Wanted, no block of the next launches runs. Each is checked and listed as any other; which
/// function it is, is told in other words than of one that ran.
void run_no_blocks(bool wanted);

// ---- Streams --------------------------------------------------------------------------------

/// From now on, host code that puts work on another stream than this one, or that waits for the
/// device, is a finding; nullptr, as at the start: neither is. Whatever the stream, work is done at
/// once and in order, unless it is held. What the host has put on that stream before may not have
/// ended to a launch that may begin early, and may use all memory that the host has allocated.
void expect_stream(const void* stream);

/// From now on, work waits on its stream until host code waits for the device; not wanted, as at
/// the start: it is done at once. Work that was put on two streams then runs in turns: half of the
/// blocks of a launch, half of those of the other stream's, the other half.
void hold_work(bool wanted);

// ---- The device -----------------------------------------------------------------------------

/// How many multiprocessors it has from now on; as many as an H200 at the start. What fills a
/// device of a few has few blocks. Code may keep what the device told, so this is for a fresh
/// process.
void set_multiprocessors(int number);
/// Whether it refuses every launch, with cudaErrorLaunchOutOfResources. Not so at the start.
void refuse_launches(bool wanted);
/// Of which compute capability it is: 75, 80, 90 as at the start, or 120. A launch that asks for
/// what such a GPU has not is refused: clusters, so much shared memory. What kernels may do stays.
void set_generation(int capability);

// ---- Limits and errors ----------------------------------------------------------------------

/// CPU seconds that one launch may take before it is stopped as endless. 10 at the start.
void set_time_limit(double cpu_seconds_per_launch);

/// Loads, stores and atomics that one launch may make before it is stopped as endless; 0, as at the
/// start: any number. A wait for other threads counts as one. Unlike the time they do not depend
/// on the computer.
void limit_accesses(std::uint64_t per_launch);

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
