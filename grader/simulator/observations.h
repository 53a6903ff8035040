// What the simulator has seen of a program's launches: what they did wrong, and what they moved.
// Plain structs, which may leave the process that holds the simulator.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace simulator {

enum class MemorySpace : std::uint8_t {
  shared,
  global,
  distributed,  // shared memory of another block of the cluster
};
enum class AccessType : std::uint8_t { read, write, atomic };

// ---- Findings -------------------------------------------------------------------------------

enum class Kind {
  out_of_bounds_global,
  out_of_bounds_shared,
  out_of_bounds_local,
  use_after_free,
  null_pointer,
  host_pointer,    // a kernel uses the address of host memory
  wrong_space,     // PTX for one memory space gets an address of another
  device_pointer,  // host code uses the address of device memory
  other_stream,    // host code puts work on another stream than expect_stream() says
  host_waits,      // host code waits for the device, where it must not
  memory_kept,     // host code has taken memory, and returns without giving it back
  host_written,    // numbers in device memory that are the host's, and no kernel's
  misaligned,
  uninitialised_shared,
  uninitialised_global,
  undefined_result,  // of a collective, stored by a thread that has none
  barrier_divergence,
  early_return,
  early_begin,       // uses what the kernel before may still use
  cluster_lifetime,  // shared memory of a block that may not have begun, or may have ended
  deadlock,
  bad_warp_mask,
  inactive_lane_read,
  endless_loop,
  stack_overflow,
  invalid_launch,
  refused_copy,  // a warning: the caller may have asked for the error
  assertion,
  trap,
  shared_race,
  global_race,
  read_only_load,       // __ldg() of what the same launch has written
  copy_not_awaited,     // of asynchronous copies: what they bring is used too early,
  copy_overwritten,     // or somebody writes where they read or write
  copy_left,            // a warning: nobody waits for them
  invalid_copy,         // one that the hardware does not have
  missing_proxy_fence,  // a bulk copy may not see what was stored before it
  invalid_barrier,      // a barrier in shared memory that cannot be used so
};

/// The kinds' names in messages and files.
struct KindName {
  Kind kind;
  const char* name;
};
inline constexpr KindName kKindNames[] = {
    {Kind::out_of_bounds_global, "out-of-bounds-global"},
    {Kind::out_of_bounds_shared, "out-of-bounds-shared"},
    {Kind::out_of_bounds_local, "out-of-bounds-local"},
    {Kind::use_after_free, "use-after-free"},
    {Kind::null_pointer, "null-pointer"},
    {Kind::host_pointer, "host-pointer"},
    {Kind::wrong_space, "wrong-address-space"},
    {Kind::device_pointer, "device-pointer"},
    {Kind::other_stream, "other-stream"},
    {Kind::host_waits, "host-waits"},
    {Kind::memory_kept, "memory-kept"},
    {Kind::host_written, "host-written"},
    {Kind::misaligned, "misaligned"},
    {Kind::uninitialised_shared, "uninitialised-shared"},
    {Kind::uninitialised_global, "uninitialised-global"},
    {Kind::undefined_result, "undefined-result"},
    {Kind::barrier_divergence, "barrier-divergence"},
    {Kind::early_return, "early-return"},
    {Kind::early_begin, "early-begin"},
    {Kind::cluster_lifetime, "cluster-lifetime"},
    {Kind::deadlock, "deadlock"},
    {Kind::bad_warp_mask, "bad-warp-mask"},
    {Kind::inactive_lane_read, "inactive-lane-read"},
    {Kind::endless_loop, "endless-loop"},
    {Kind::stack_overflow, "stack-overflow"},
    {Kind::invalid_launch, "invalid-launch"},
    {Kind::refused_copy, "refused-copy"},
    {Kind::assertion, "assert"},
    {Kind::trap, "trap"},
    {Kind::shared_race, "shared-race"},
    {Kind::global_race, "global-race"},
    {Kind::read_only_load, "read-only-load"},
    {Kind::copy_not_awaited, "copy-not-awaited"},
    {Kind::copy_overwritten, "copy-overwritten"},
    {Kind::copy_left, "copy-left"},
    {Kind::invalid_copy, "invalid-copy"},
    {Kind::missing_proxy_fence, "missing-proxy-fence"},
    {Kind::invalid_barrier, "invalid-barrier"},
};

inline const char* kind_name(Kind kind) {
  for (const KindName& known : kKindNames) {
    if (known.kind == kind) {
      return known.name;
    }
  }
  return "unknown";
}

struct Dim3 {
  unsigned x = 0, y = 0, z = 0;

  bool operator==(const Dim3& other) const { return x == other.x && y == other.y && z == other.z; }
};

/// One thread's part in a finding: what it did, and where.
struct Party {
  std::string action;  // "writes 4 bytes", "waits at __syncthreads()"
  std::string file;    // as the compiler was given it; empty if unknown
  int line = 0;        // 0 if unknown
  Dim3 thread, block;
  int warp = 0, lane = 0;
  bool on_host = false;  // host code: no thread
  int called_from = 0;   // the kernel's or launcher's line that called the function that did it;
                         // 0: none, unknown
  std::string caller_file = {};  // where `file` is a header that the exercise gives, "onepass/*.h",
                                 // the student's, which called_from is a line of; else empty
};

/// What two threads lack that race.
enum class Missing {
  nothing,  // it is no race
  order,    // any: they are of two blocks
  syncwarp,
  barrier,          // __syncthreads(); of two blocks, in one of them, beside an atomic of both
  storage,          // a TempStorage of its own for each warp
  fence,            // before that atomic, if not a barrier too
  acquire,          // or a fence, behind the atomic by which one comes after the other
  cluster_barrier,  // cluster.sync(): they are of two blocks of a cluster
  grid_barrier,     // grid.sync(): they are of two blocks of a cooperative launch
  scope,            // of the device: both are atomic, one of them to its own block only
};

/// What a kernel does as a whole, at one line or at many: it is told once.
enum class Habit {
  none,
  early_return,   // threads return before a barrier of the others
  same_value,     // several threads write a value where one is enough
  lanes_in_step,  // lanes share volatile memory as if they ran in step
};

struct Finding {
  Kind kind = {};
  std::string kernel;
  std::string message;  // one or two sentences, without the parties' places
  bool warning = false;
  std::vector<Party> parties = {};
  std::string buffer = {};  // the name of the memory concerned, "" if none
  std::int64_t index = -1;  // the element of that buffer, -1 if none
  Missing missing = Missing::nothing;
  Habit habit = Habit::none;
  /// Of a read and what writes over it: what was read had been written by the same line.
  bool writes_again = false;
  std::uintptr_t plain_read = 0;  // of a race with an atomic: where the other one reads plainly
};

// ---- Traffic --------------------------------------------------------------------------------

/// What the accesses at one line of source cost, of one kind and to one buffer.
///
/// A request is one load, store or atomic of the active lanes of one warp. Global memory moves in
/// sectors of 32 bytes: a request costs as many as its lanes touch. Shared memory has 32 banks of 4
/// bytes, each of which serves one word at a time: a request costs as many wavefronts as the
/// busiest bank has words to serve. Shared memory of another block is reached in sectors, like
/// global memory. No lanes ask for a bulk copy: its requests are pieces of 128 bytes from its first
/// byte on.
struct LineTraffic {
  std::string file;              // as the compiler was given it; empty if unknown
  int line = 0;                  // 0 if unknown
  std::string caller_file = {};  // as in Party: one that leads there, if `file` is a given header
  int called_from = 0;
  MemorySpace space = MemorySpace::global;
  AccessType type = AccessType::read;
  bool is_bulk = false;  // a bulk copy
  std::string buffer;    // the device memory's label, or the __shared__ variable
  std::uint64_t requests = 0;
  std::uint64_t lanes = 0;             // active ones, summed over the requests
  std::uint64_t bytes = 0;             // that differ within a request, summed over the requests
  std::uint64_t units = 0;             // sectors, or wavefronts (shared)
  std::uint64_t least_units = 0;       // had the bytes of each request lain side by side
  std::uint64_t distinct_sectors = 0;  // global: each once, however often the line requests it
  unsigned lane_bytes = 0;             // of one lane's access, in the first costliest request
  std::int64_t lane_distance = 0;      // there, bytes from one lane's address to the next lane's; 0
                                       // if they vary
};

/// What one launch moved.
struct LaunchTraffic {
  std::string kernel;  // as written
  Dim3 grid, block;
  std::uint64_t read_bytes = 0;  // of global memory, as the lanes ask for them
  std::uint64_t written_bytes = 0;
  // On demand (count_requests()):
  std::uint64_t read_sectors = 0;  // of global memory, each once however often it is requested
  std::uint64_t written_sectors = 0;
  std::vector<LineTraffic> lines = {};  // in the order of file and line; see count_requests()
  // Which function was run, "void onepass::k<float>(float*)", in the compiler's full words; "" if
  // none of its threads got to an access or a barrier. And what it may use of shared memory.
  std::string function = {};
  std::uint64_t dynamic_shared_bytes = 0;
  bool in_clusters = false;
  bool is_cooperative = false;
};

/// One request, for a map of accesses.
struct TracedRequest {
  std::uint64_t block = 0;  // its number in the grid, x fastest
  int warp = 0;
  std::uint32_t step = 0;               // its number among the requests of its warp
  int line = 0;                         // index into LaunchTraffic::lines
  unsigned lanes = 0;                   // mask of the active ones
  unsigned bytes = 0;                   // of one lane's access
  unsigned units = 0, least_units = 0;  // as in LineTraffic
  std::vector<std::int64_t> offsets;    // bytes from the buffer's start, of the active lanes
};

}  // namespace simulator
