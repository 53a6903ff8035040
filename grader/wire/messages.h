// What crosses between the deciding process and a worker, each struct once for both sides; json.h
// has their JSON, worker/protocol.h how they travel and which reply answers which request.
//
// C++17 without JSON: one of the worker's devices is compiled by nvcc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "simulator/block_order.h"
#include "simulator/observations.h"

namespace onepass::wire {

/// The types of the numbers in device memory.
enum class Dtype { fp32, fp16, bf16, int32, int64 };

/// Bytes of one element.
constexpr std::size_t size_of(Dtype dtype) {
  return dtype == Dtype::fp32 || dtype == Dtype::int32 ? 4 : dtype == Dtype::int64 ? 8 : 2;
}

// ---- Requests -------------------------------------------------------------------------------

/// Numbers that each side makes for itself (worker/hash_fill.h), uniform in
/// [mean - scale, mean + scale).
struct HashFill {
  std::uint64_t seed = 0;
  double mean = 0.0;
  double scale = 1.0;
};

/// The elements before the call: those of a blob, dense; one byte everywhere; made from a hash.
enum class Fill { blob, byte, hash };

/// A buffer of a call.
struct BufferSpec {
  std::string name;
  Dtype dtype = Dtype::fp32;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t stride = 0;  // elements from one row to the next, at least cols
  std::int64_t offset = 0;  // elements past an address aligned to 256 bytes,
  std::string in;           // or past the first of the buffer of this name, in whose memory it lies
  bool is_output = false;   // it counts as uninitialised until written
  bool is_null = false;     // it has no memory: the function gets a null pointer,
  std::string over;         // or the address of the buffer of this name
  Fill fill = Fill::byte;
  std::size_t blob = 0;   // of Fill::blob: its number among those of the message
  std::uint8_t byte = 0;  // of Fill::byte
  HashFill hash;          // of Fill::hash
  bool send_back = true;  // after the call

  std::int64_t element_bytes() const { return static_cast<std::int64_t>(size_of(dtype)); }
  std::size_t row_bytes() const { return static_cast<std::size_t>(cols * element_bytes()); }
  std::size_t pitch_bytes() const { return static_cast<std::size_t>(stride * element_bytes()); }
  /// From the first byte of the first row to the last byte of the last row.
  std::size_t span_bytes() const {
    return rows == 0 ? 0 : static_cast<std::size_t>((rows - 1) * stride + cols) * size_of(dtype);
  }
};

/// What the simulator's device is, if it is not the one that it is at the start.
struct OtherDevice {
  int multiprocessors = 0;  // 0: as many as at the start
  int capability = 90;      // of simulator::limits::kGenerations
};

/// "run" and "prepare": a call of the student's function.
struct Call {
  std::string function;
  std::string dtype;  // of the function in the binding's table; "" for one that suits any
  std::map<std::string, double> scalars;
  std::vector<BufferSpec> buffers;
  double time_limit_s = 10.0;       // of each launch, on the simulator
  bool lines = false;               // on the simulator: count traffic by line of source too,
  std::int64_t trace = 0;           // keep the first so many requests of each launch,
  std::uint64_t most_accesses = 0;  // stop each after so many; 0: never,
  std::uint64_t most_blocks = 0;    // run a sample of so many blocks of each; 0: all,
  OtherDevice device = {};          // on this one,
  bool no_launches = false;         // with each launch refused,
  simulator::BlockOrder block_order = simulator::BlockOrder::rising;  // in this order
  std::uint64_t order_seed = 0;                                       // of a shuffled one
  bool profiled = false;  // on a GPU: its launcher returns when its work is done, so hold none back
  int sets = 1;           // "prepare": of buffers that take turns
  // "run": of a second call of the function, on another stream, so that the work of both may run at
  // the same time. Without buffers there is none.
  std::map<std::string, double> beside_scalars = {};
  std::vector<BufferSpec> beside_buffers = {};
};

/// "ask": what would be launched with these scalars in turn, of which no block runs. The call's
/// buffers have room for all of them.
struct Question {
  Call call;
  std::vector<std::map<std::string, double>> scalars;
};

/// "sample": timed calls of what is prepared.
struct SampleOrder {
  int count = 1;
  int warmup = 0;
};

/// "fetch": rows of the set of buffers that was used last.
struct FetchOrder {
  std::vector<std::int64_t> rows;
};

// ---- Replies --------------------------------------------------------------------------------

/// To "hello".
struct DeviceFacts {
  std::string kind;  // "cpu" or "gpu"
  std::string name;
  std::uint64_t memory_bytes = 0;
  std::uint64_t l2_bytes = 0;  // 0: unknown, here and below
  int multiprocessors = 0;
  double peak_gbs = 0.0;  // 1e9 bytes a second between memory and chip, by the data sheet
};

/// What became of a call. The worker tells the first four; the others are what the deciding process
/// finds instead of an answer.
enum class Outcome {
  ok,
  launch_error,   // a launch was refused
  device_error,   // a kernel failed while it ran; the worker is of no more use
  out_of_memory,  // of the device
  crashed,        // ended by a signal
  timed_out,
  ended_early,      // exited, closed its pipes, answered nonsense
  too_much_memory,  // it took more of this computer's than it may
  refused,          // it says that it cannot, as after out_of_memory: is that so?
  grader_fault,     // it could not be started, or the machine ended it: never the student's fault
};

/// To "prepare", and a part of other replies.
struct Ending {
  Outcome outcome = Outcome::ok;
  std::string error;  // what the device calls it; empty if ok
};

/// A buffer after the call.
struct SeenBuffer {
  std::string name;
  std::int64_t blob = -1;  // the number of the one with its elements, dense; -1: not sent back
  // The first stray write into the padding between rows, -1 if there is none. Gaps above 1 MiB are
  // not looked at.
  std::int64_t padding_row = -1;
  std::int64_t padding_col = -1;  // cols or more
  // Of stray writes outside of the buffer, the nearest: 1 is the element right before the first, or
  // right after the last; 0 if there is none.
  std::int64_t elements_before = 0;
  std::int64_t elements_after = 0;
};

/// What the simulator saw; all of it empty on a GPU.
struct Observations {
  std::vector<simulator::Finding> findings;
  std::vector<simulator::LaunchTraffic> traffic;
  std::vector<std::vector<simulator::TracedRequest>> trace;  // a list for each launch
};

/// To "run".
struct Ran {
  Ending ending;
  Observations observations;
  std::vector<SeenBuffer> buffers;  // empty unless the outcome is ok
  std::vector<SeenBuffer> beside_buffers;
};

/// A launch that did not run.
struct Launch {
  std::string kernel;  // its function, with the shape of its clusters
  std::uint64_t blocks = 0;
  std::uint64_t threads = 0;       // of a block
  std::uint64_t shared_bytes = 0;  // dynamic
  bool in_clusters = false;
  bool is_cooperative = false;
};

/// To "ask", of each call.
struct Launched {
  bool went_well = false;
  std::vector<Launch> launches;
};

/// To "sample".
struct Sampled {
  Ending ending;
  std::vector<double> ms;        // one for each call
  std::uint64_t generation = 0;  // of the contents of the last call, see fill_seed()
};

/// To "fetch": the rows of a buffer that it has, of those asked for.
struct FetchedBuffer {
  std::string name;
  std::vector<std::int64_t> rows;
  std::size_t blob = 0;
};

}  // namespace onepass::wire
