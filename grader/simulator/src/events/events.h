// What happens while a kernel runs, in plain types: all that a checker ever sees.
//
// A checker is a class with a function on() for each event that concerns it. It is made when a
// launch begins, is told one event after another, and adds to the list of findings. It knows no
// fiber, no scheduler and no other checker; so it can be read alone, tested with a few events and
// no kernel (grader/tests/simulator/checkers), and left out of a launch. checkers/checkers.h has
// the list of them and hands the events on.
//
// Threads are known by their number in the block: x fastest, then y, then z. Thread n is lane n %
// 32 of warp n / 32. Events speak of the running block until another one begins or goes on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "observations.h"
#include "onepass_simulator/device_calls.h"

namespace simulator {

/// The return address of a call out of the student's code.
using CodeAddress = std::uintptr_t;

/// The mask of the first `count` lanes of a warp, of all 32 if there are more.
inline unsigned low_lanes(std::size_t count) {
  return count >= 32 ? ~0u : (1u << count) - 1;
}

// ---- Launches and blocks --------------------------------------------------------------------

struct LaunchBegin {
  const char* kernel;  // as written: "rmsnorm_kernel<T>"
  uint3 grid, block;
  bool is_cooperative = false;
  uint3 cluster = {1, 1, 1};
  bool may_begin_early = false;    // before the launch before it has ended
  const void* function = nullptr;  // the kernel's address, if the launch knows it
  std::shared_ptr<const std::vector<CodeAddress>> host_calls =  // that have led to it
      std::make_shared<const std::vector<CodeAddress>>();

  LaunchedKernel launched() const { return {kernel, function}; }
  bool has_clusters() const { return cluster.x * cluster.y * cluster.z > 1; }
};

/// Few blocks are under way at one time. Each has a seat, which the next one takes when it ends.
struct BlockBegin {
  std::uint64_t number;  // x fastest, then y, then z
  unsigned seat;
  unsigned threads;
  // Of its cluster, whose blocks begin one behind the other:
  unsigned first_seat = 0;  // that of rank 0
  unsigned rank = 0, cluster_blocks = 1;
};

/// The block on this seat, which was set aside, goes on.
struct BlockResume {
  unsigned seat;
};

/// All its threads have returned; the last one from behind this access or call.
struct BlockEnd {
  unsigned thread = 0;
  CodeAddress last_site = 0;
};

struct LaunchEnd {};  // its blocks have ended, or it was stopped

struct ThreadReturn {
  unsigned thread;
};

// ---- Memory ---------------------------------------------------------------------------------

struct Access {
  std::uintptr_t address;
  unsigned size;       // bytes, 1 to 16
  unsigned alignment;  // that it needs; what is wider is several instructions
  AccessType type;
  CodeAddress site;
  bool is_atomic = false;          // type atomic, and the loads and stores of std::atomic
  bool is_volatile = false;        // a load or store through a volatile pointer
  bool is_barrier = false;         // of a barrier in shared memory: no load or store
  bool is_in_block = false;        // an atomic that is one to its own block only
  bool is_load = false;            // an atomic that changes nothing, whatever it finds
  bool is_exchange = false;        // an atomic whose result does not depend on what was there
  bool is_late = false;            // an asynchronous store: it happens when it lands,
  bool in_first_phase = false;     // which is in the first phase of its barrier
  const void* expected = nullptr;  // what a compare-and-swap looks for, as many bytes
};

/// What the address alone tells.
enum class Area : std::uint8_t {
  inside,          // a piece of memory that is there
  own,             // the thread's stack, the launch's arguments, the program's globals: not checked
  outside_device,  // device memory, but of no buffer, or not all of it
  outside_shared,
  other_stack,  // of another thread of the block
  elsewhere,
};

/// Where an access lands. The rest is told of Area::inside only.
struct Place {
  Area area;
  MemorySpace space = MemorySpace::global;
  std::uint32_t piece = 0;  // global: the allocation's number; shared: one of the two below
  std::size_t offset = 0;   // in the piece
};
constexpr std::uint32_t kStaticShared = 0, kDynamicShared = 1;
/// Shared memory of another block of the cluster: the two of seat 0, those of seat 1, ...
constexpr std::uint32_t kFirstRemote = 2;
inline bool is_remote(const Place& place) {
  return place.space == MemorySpace::shared && place.piece >= kFirstRemote;
}
inline unsigned remote_seat(const Place& place) {
  return (place.piece - kFirstRemote) / 2;
}

/// A load, store or atomic, before it happens. There are tens of millions of them, so they are kept
/// in registers: what tells a finding takes them by value, for a reference would be to memory.
struct AccessEvent {
  unsigned thread;
  const Access& access;
  Place place;
};

/// A load by the read-only path, before its AccessEvent.
struct ReadOnlyLoad {
  AccessEvent load;
};

/// An index outside an array whose size the compiler knows, before it is used.
struct IndexEvent {
  unsigned thread;
  const char* array_type;  // "'float [4]'"
  std::int64_t index;
  CodeAddress site;
};

/// An atomic or volatile access to a word, before its AccessEvent.
struct Synchronisation {
  unsigned thread;
  std::uintptr_t word;
  CodeAddress atomic;       // where it is; 0: it is a volatile access
  bool only_reads = false;  // so that nobody learns from it what came before
};

/// fence.proxy.async
struct ProxyFence {
  unsigned thread;
};

/// What atomics have told the thread so far, its plain loads see from now on. A fence does that,
/// too.
struct Acquire {
  unsigned thread;
};
struct Fence {
  unsigned thread;
  bool for_all_blocks = true;  // false: __threadfence_block()
};

/// A read of shared memory that nobody had written, and which may have come too early.
struct EarlyRead {
  std::uintptr_t address;
  unsigned size;
  unsigned thread;
  CodeAddress site;
  std::uint64_t when;  // a time stamp, which only the race checker can read
  bool is_atomic;
  bool is_remote = false;   // by another block of the cluster,
  std::uint64_t block = 0;  // this one
};

// ---- Asynchronous copies (copies/copies.h) --------------------------------------------------

/// One that is under way, from the call that begins it to the wait that guarantees it.
struct AsyncCopy {
  unsigned thread;          // that began it,
  std::uint64_t block = 0;  // of this block
  Access from, to;          // both at the line of the call; `from` is smaller if zeros follow it
  Place from_place, to_place;
  std::uint64_t when = 0;      // it began: a time stamp, which only the race checker can read
  std::uint64_t batch = 0;     // among the thread's, counted from 0
  bool is_committed = false;   // with its batch
  CodeAddress left_by = 0;     // the thread's last wait since, which does not cover it; 0: none
  bool was_committed = false;  // before that wait
  std::size_t left = 0;        // how many batches that wait leaves under way
  bool is_at_barrier = false;  // it belongs to phase number `batch` of a barrier in shared memory
  std::size_t whole = 0;       // of a bulk copy this is a piece: the size of all; 0: of none
  bool is_read = false;        // its source has been read, and may be written again
  bool is_store = false;       // no copy: it stores `value`, and reads nothing
  unsigned char value[16];     // what was there, if it has been read
};

/// From now on it may read its source and write its destination at any time.
struct CopyBegin {
  const AsyncCopy* copy;
};

/// A thread calls st.async. What it does from here to StoreBegin happens when that lands.
struct StoreCall {
  unsigned thread;
};

/// An asynchronous store begins, which is kept by the block on this seat, as it has that memory.
struct StoreBegin {
  const AsyncCopy* store;
  AccessEvent write;  // the same as its thread reaches it
  unsigned seat;
  std::uint32_t barrier;  // the number of the one where it counts,
  std::uint64_t phase;    // and the phase
};

/// All pieces of a bulk copy have begun. Its end in global memory:
struct BulkCopyBegun {
  unsigned thread;
  CodeAddress site;
  std::uint64_t block;
  AccessType type;
  std::uintptr_t address;
  std::size_t size;
};

/// It has read its source, and the thread has waited for that.
struct CopyRead {
  const AsyncCopy* copy;
};

/// It has done both, and the thread has waited for that, or some thread for its barrier; or the
/// thread returns without having waited.
struct CopyEnd {
  const AsyncCopy* copy;
  bool is_awaited = true;
};

/// The thread returns, and has not waited for it.
struct CopyLeft {
  const AsyncCopy* copy;
};

// ---- Waiting --------------------------------------------------------------------------------

/// Whose barrier it is.
enum class BarrierScope : std::uint8_t { block, cluster, grid };

struct BarrierWait {
  unsigned thread;
  CodeAddress site;
  CodeAddress barrier;  // the same for all that wait at the same call of the source
  BarrierScope scope = BarrierScope::block;
};

/// All threads of the block that have not returned wait at the barrier. At its own they now go on.
struct BarrierMet {};

/// A thread arrives at the barrier of its cluster, and does nothing more before it is met if it
/// stays; has waited there; all have arrived.
struct ClusterArrive {
  unsigned thread;
  bool stays;
};
struct ClusterWaited {
  unsigned thread;
};
struct ClusterMet {};

/// The cluster's barrier is never met: this thread of the running block waits there, and that one,
/// of another block if not of this, waits elsewhere for ever.
struct ClusterMissed {
  unsigned thread;
  std::uint64_t other_block;
  unsigned other_thread;
  CodeAddress other_site;
};

/// The thread waits until the launch before this one has ended.
struct PrimaryAwaited {
  unsigned thread;
};

/// The thread lets the next launch begin, as far as it depends on this block.
struct DependentsTriggered {
  unsigned thread;
};

/// All blocks wait at the grid's barrier, each told by BarrierMet, and now go on, each told by
/// BlockResume.
struct GridMet {};

/// The grid's barrier is never met: this thread of the running block waits there, for blocks that
/// have ended.
struct GridMissed {
  unsigned thread;
  std::uint64_t ended;  // blocks
  // Of one of them: the thread that was the last to return, and its last access or call.
  std::uint64_t block;
  unsigned last_thread;
  CodeAddress last_site;
};

/// A named barrier of a block (bar.sync) is told as one in shared memory, at its number.
constexpr std::uintptr_t kNamedBarriers = 16;

/// What a barrier in shared memory still waits for, to the end of the present phase.
struct StillMissing {
  std::uint32_t arrivals;
  std::int64_t bytes;  // of copies
};

/// A thread arrives at a barrier in shared memory (cuda::barrier), or begins a copy that does when
/// it has landed, and goes on. The barrier is that of the block on this seat, mostly its own.
struct SplitArrive {
  unsigned thread;
  unsigned seat;
  std::uintptr_t barrier;
  StillMissing missing;  // after that
};

/// All have arrived that it expects: its phase is complete, and the next one begins.
struct SplitComplete {
  unsigned seat;
  std::uintptr_t barrier;
  std::uint32_t number;  // of the barrier, among all of the launch
  std::uint64_t phases;  // complete so far
  bool has_stores;       // asynchronous stores counted in this one
};

/// A thread waits at it for the end of a phase, until LanesGoOn.
struct SplitWait {
  unsigned thread;
  CodeAddress site;
  std::uintptr_t barrier;
  StillMissing missing;  // now
};

/// The thread knows that a phase is complete.
struct SplitPass {
  unsigned thread;
  std::uintptr_t barrier;
};

/// A lane asks for a shuffle, a vote, __syncwarp() or the like, and waits.
struct WarpCall {
  unsigned thread;
  WarpOperation operation;
  unsigned mask;
  int width;  // of a shuffle's segments
  CodeAddress site;
};

/// __shfl_sync() and its kin.
inline bool is_shuffle(WarpOperation operation) {
  return operation >= WarpOperation::shuffle && operation <= WarpOperation::shuffle_xor;
}

/// A lane asks for __activemask(), and waits.
struct ActiveMaskCall {
  unsigned thread;
  CodeAddress site;
};

/// The lane has its answer.
struct ActiveMaskAnswer {
  unsigned thread;
  unsigned mask;
};

/// A lane waits until the others of its warp have come as far.
struct CatchUp {
  unsigned thread;
};

/// These lanes got the answers of their calls.
struct LanesGoOn {
  unsigned warp;
  unsigned lanes;
};

/// These lanes got values of each other by a shuffle, a vote or the like.
struct ValuesCarried {
  unsigned warp;
  unsigned lanes;
  bool is_from_one;       // lane i from lane from[i]; else each from all
  std::uint8_t from[32];  // i itself, if it got no other's
};

/// These lanes pass a __syncwarp() together.
struct SyncwarpMet {
  unsigned warp;
  unsigned lanes;
};

/// A shuffle of the thread reads a lane that does not take part in it.
struct UndefinedSource {
  unsigned thread;
  int lane;
};

/// No thread of the block can go on, and not all have returned.
struct BlockStuck {};

/// As many blocks as fit at one time wait for a word in memory to change, for instance this thread.
struct AllBlocksWait {
  unsigned thread;
  CodeAddress site;
  std::uint64_t unstarted;    // blocks of the launch that have not begun
  std::uint64_t at_grid = 0;  // blocks that wait at the grid's barrier
};

}  // namespace simulator
