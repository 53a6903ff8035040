// The boundary between CUDA's language as a host compiler sees it (the headers beside this folder)
// and the simulator's runtime (simulator/src). Everything that a kernel asks of the machine is one
// of these calls. They are plain functions with plain types, so that each side can be read alone.
//
// The headers wrap them in always_inline functions with CUDA's names: the runtime takes the return
// address of a call as the place in the student's code, and skips inlined frames of the headers.
//
// Loads and stores are not here: g++ -fsanitize=thread calls the runtime for each of them.
#pragma once

#include <cstddef>
#include <cstdint>

/// CUDA's own three unsigned integers; the other vector types are in the headers.
struct uint3 {
  unsigned int x, y, z;
};

namespace simulator {

// ---- The running thread ---------------------------------------------------------------------

/// They are const to the compiled kernel, so that reading them is not instrumented as a memory
/// access; the scheduler writes them each time it resumes a thread.
#define ONEPASS_INDEX(name) \
  extern __thread const uint3 name __attribute__((tls_model("initial-exec")));
ONEPASS_INDEX(threadIdx)
ONEPASS_INDEX(blockIdx)
ONEPASS_INDEX(blockDim)
ONEPASS_INDEX(gridDim)
#undef ONEPASS_INDEX

// ---- Launching ------------------------------------------------------------------------------

struct LaunchShape {
  uint3 grid;
  uint3 block;
  std::size_t dynamic_shared_bytes;
  void* stream;
  bool is_cooperative = false;   // all blocks are there at one time, and may wait for each other
  uint3 cluster = {0, 0, 0};     // blocks of a cluster along each side; zeros: not said
  bool may_begin_early = false;  // before the kernel that precedes it in its stream has ended
};

/// A kernel as its launch knows it.
struct LaunchedKernel {
  const char* written;   // its name there: "rmsnorm_kernel<T>", or that of a variable
  const void* function;  // its address; null where only the call tells which one of that name it is
};

/// Runs the kernel with this shape: body(arguments) once a thread. `arguments` is the host's copy
/// of the launch's arguments, `argument_bytes` long; the threads may read it. Errors are told by
/// cudaGetLastError().
void launch(const LaunchedKernel& kernel, const LaunchShape& shape, void (*body)(void* arguments),
            void* arguments, std::size_t argument_bytes);

/// The name of the kernel at this address, as its own symbol has it ("rmsnorm_kernel").
const char* kernel_name(const void* function);

// ---- Block-wide barriers --------------------------------------------------------------------

enum class Barrier : int { plain, count, all, any };

/// __syncthreads and its _count, _and (all), _or (any). The answer of `plain` is 0. `barrier` tells
/// one call in the source from another.
int block_barrier(Barrier kind, int predicate, const void* barrier);

/// PTX's bar.sync and bar.arrive, for `threads` threads of the block at barrier number 0 to 15.
void meet_at_named_barrier(std::uint32_t barrier, std::uint32_t threads);
void arrive_at_named_barrier(std::uint32_t barrier, std::uint32_t threads);

// ---- Barriers across blocks -----------------------------------------------------------------

/// cooperative_groups::this_grid().sync(). `barrier` as above.
void grid_barrier(const void* barrier);

/// Whether the running launch is a cooperative one.
bool is_cooperative_launch();

// ---- Programmatic dependent launches --------------------------------------------------------

/// cudaGridDependencySynchronize(): waits until the kernel before this one has ended.
void wait_for_primary();
/// cudaTriggerProgrammaticLaunchCompletion(): the next kernel may begin, if all blocks say so.
void trigger_dependents();

// ---- Clusters -------------------------------------------------------------------------------

/// Blocks along each side; 1 x 1 x 1 where the launch has no clusters.
uint3 cluster_size();

/// cooperative_groups::this_cluster(): barrier_arrive(), barrier_wait(), or both, sync().
enum class ClusterBarrier : int { arrive, wait, sync };
void cluster_barrier(ClusterBarrier part, const void* barrier);

/// Where the variable at this address of shared memory is in that of the cluster's block `rank`;
/// and whose it is.
void* map_shared(void* address, unsigned rank);
unsigned rank_of_shared(const void* address);

/// In a kernel with __cluster_dims__: starts the launch again if that was not known.
void keep_to_cluster_dims(unsigned x, unsigned y, unsigned z);

// ---- Warps ----------------------------------------------------------------------------------

enum class WarpOperation : int {
  sync,
  shuffle,       // argument: source lane
  shuffle_up,    // argument: delta
  shuffle_down,  // argument: delta
  shuffle_xor,   // argument: lane mask
  ballot,        // value: predicate, 0 or 1
  any,
  all,
  match_any,
  match_all,     // answer: the mask if all values are equal, else 0
  add_unsigned,  // the reductions: 32-bit values
  add_signed,
  min_unsigned,
  min_signed,
  max_unsigned,
  max_signed,
  bit_and,
  bit_or,
  bit_xor,
  elect,  // answer: the lowest lane
};

/// One operation of the lanes in `mask`, which must contain the caller. `value` holds the bits of
/// the caller's value (up to 8 bytes, zero-extended); the answer comes in the same form.
/// `argument` and `width` (1, 2, 4, 8, 16 or 32) matter to the shuffles only.
std::uint64_t warp_operation(WarpOperation operation, unsigned mask, std::uint64_t value,
                             int argument, int width);

/// The lanes of the caller's warp that have not returned and that wait nowhere else.
unsigned active_mask();

// ---- Atomics and fences ---------------------------------------------------------------------

/// Computes the new bits of a word from its old bits. Must be pure.
using AtomicUpdate = std::uint64_t (*)(std::uint64_t old_bits, std::uint64_t operand,
                                       std::uint64_t comparand);

/// What an atomic operation found. unset: 0, or the number of an exchange whose word nobody had
/// written.
struct OldWord {
  std::uint64_t bits, unset;
};

/// For whom a fence orders, and to whom an atomic is one.
enum class FenceScope : int { block, device, system };

/// One atomic read-modify-write of the 1, 2, 4 or 8 bytes at `address`. For instance
/// atomicAdd(float*): bytes 4, update adds two floats given by their bits. Without an update the
/// operand takes the place of what is there: atomicExch().
OldWord atomic_update(void* address, int bytes, AtomicUpdate update, std::uint64_t operand,
                      std::uint64_t comparand, FenceScope scope = FenceScope::device);

/// Tells of such an exchange. It is a write, and a read only where the program uses its result: so
/// this is declared to have no effect, and the compiler leaves out a call whose result nobody uses.
[[gnu::const]] std::uint64_t use_unset(std::uint64_t bits, std::uint64_t unset);

inline std::uint64_t used(OldWord old) {
  return old.unset == 0 ? old.bits : use_unset(old.bits, old.unset);
}

/// The update of atomicCAS().
std::uint64_t compare_and_swap(std::uint64_t old_bits, std::uint64_t operand,
                               std::uint64_t comparand);

/// The update of an atomic load.
std::uint64_t keep(std::uint64_t old_bits, std::uint64_t operand, std::uint64_t comparand);

/// __threadfence_block, __threadfence, __threadfence_system.
void memory_fence(FenceScope scope);
/// Behind an atomic that acquires.
void acquire_memory(FenceScope scope);

// ---- Asynchronous copies --------------------------------------------------------------------

/// cp.async: begins to copy `size` bytes (4, 8 or 16) from global to shared memory, of which the
/// last `zeros` are zero and not read. The thread goes on. only: of that size, for cp.async.cg has
/// no other one.
void async_copy(void* to, const void* from, std::size_t size, std::size_t zeros,
                std::size_t only = 0);

/// The same, of a larger copy: `size` bytes (1, 2, 4, 8 or 16). False, and nothing is done, if it
/// is not from global to shared memory.
bool async_piece(void* to, const void* from, std::size_t size);

/// cp.async.commit_group: what the thread has begun since the last call is a batch.
void commit_copies();

/// cp.async.wait_group: until all of the thread's batches but the last `prior` have landed.
void wait_for_copies(std::size_t prior);

// ---- Barriers in shared memory --------------------------------------------------------------

/// mbarrier: 8 bytes, known by their address. Each phase is complete after `expected` arrivals.
void init_barrier(void* barrier, std::uint32_t expected);

/// mbarrier.inval: from now on it is none.
void invalidate_barrier(void* barrier);

/// Whose barriers a call is for: those of the caller's block, or of any of its cluster.
enum class BarrierOf : int { own_block, cluster };

/// The answer is the number of the phase that the thread has arrived in. drops_out: later phases
/// expect as many fewer.
std::uint64_t arrive_at_barrier(void* barrier, std::uint32_t arrivals, bool drops_out,
                                BarrierOf whose = BarrierOf::own_block);

/// cp.async.mbarrier.arrive: the thread's copies under way belong to the present phase, and who
/// waits for its end waits for them too.
void copies_arrive(void* barrier);

/// The present phase is complete when this many more bytes have been copied, too.
void expect_bytes(void* barrier, std::uint32_t bytes, BarrierOf whose = BarrierOf::own_block);

/// Until this phase is complete; or the one whose number is odd (parity) or even. Of a number that
/// tells the parity the lowest bit counts.
void wait_at_barrier(const void* barrier, std::uint64_t phase);
void wait_for_parity(const void* barrier, bool parity);

/// mbarrier.try_wait: false if the phase is not complete, and then the thread must ask again. The
/// second time it waits.
bool ask_barrier(const void* barrier, std::uint64_t phase);
bool ask_for_parity(const void* barrier, std::uint32_t parity);

// ---- Bulk copies ----------------------------------------------------------------------------

/// cp.async.bulk from global to shared memory: its bytes count at the barrier when it lands.
void bulk_copy_in(void* to, const void* from, std::size_t size, void* barrier);

/// cp.async.bulk from shared to global memory. The two functions below are commit_group and
/// wait_group of those; until_read: until the sources of all batches but the last `prior` have been
/// read.
void bulk_copy_out(void* to, const void* from, std::size_t size);
void commit_bulk_copies();
void wait_for_bulk_copies(std::size_t prior, bool until_read);

/// fence.proxy.async: what the thread has written in shared memory, later bulk copies see.
void proxy_fence();

// ---- Memory and the rest --------------------------------------------------------------------

/// The block's dynamic shared memory, aligned to 1024 bytes: what `extern __shared__ T name[]`
/// names. Its size is the launch's; an access past it is found.
void* dynamic_shared();

/// Of a pointer to shared memory its address there, which fits 32 bits; of others no such address.
std::size_t shared_address(const void* pointer);
/// mapa.shared::cluster: the same place in that of the cluster's block `rank`.
std::size_t map_shared_address(std::size_t address, unsigned rank);
/// Back again, of both. What is no address of shared memory ends the launch.
void* shared_pointer(std::size_t address);
bool is_shared(const void* pointer);
bool is_global(const void* pointer);
/// The pointer of ld.global and its kin. One to shared or local memory ends the launch.
void* global_pointer(void* pointer);
/// One load or store of 1, 2, 4, 8 or 16 bytes, checked at the line of the call: inline PTX, which
/// the compiler keeps as it is written.
struct AccessedWords {
  std::uint64_t low, high;
};
AccessedWords load(const void* memory, unsigned bytes);
void store(void* memory, unsigned bytes, AccessedWords words);
/// st.async: the same to shared memory of the cluster, as late as may be. Its bytes count at a
/// barrier in the same block.
void store_async(void* to, unsigned bytes, AccessedWords value, void* barrier);
/// The address of a load by the read-only path (__ldg(), ld.global.nc): has the launch written
/// there? Pure, so that the compiler keeps it behind the stores before it, and takes none of what
/// it knows of memory for lost.
[[gnu::pure]] const void* read_only(const void* memory, unsigned bytes);
/// The compiler may not move accesses across: asm volatile("" ::: "memory").
void keep_order();

/// An index outside an array. function: the checked_index() that says so, which names the type.
[[gnu::cold]] void index_out_of_bounds(const char* function, std::int64_t index);

/// Lets the other threads go on: __nanosleep and its kin.
void yield();

/// The block has more threads than the kernel's __launch_bounds__: ends the launch, which a GPU
/// does not even start.
void exceed_launch_bounds(unsigned threads);

/// A collective of CUB's is made for blocks of another shape: ends the launch.
[[gnu::cold]] void wrong_block_shape(const char* collective, uint3 shape);
/// It is to take more values than there are threads: ends the launch.
[[gnu::cold]] void too_many_valid(const char* collective, int valid, int threads);

/// Makes a value one that no thread may use: the result of a collective in a thread that has none.
/// Bits that are known again where a kernel has stored them.
void make_undefined(void* value, std::size_t bytes, const char* collective);

/// __trap(): stops the kernel with an error. Does not return inside a kernel.
void trap();

/// A counter that grows with every call: clock() and clock64(). It measures nothing.
long long clock_ticks();

// assert() needs no call: the runtime defines __assert_fail, which <cassert> uses.
// printf() needs none either: it is the host's.

}  // namespace simulator
