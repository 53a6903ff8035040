// cooperative_groups: the grid, the cluster, the block, tiles of a warp, and the lanes that happen
// to be together.
//
// A tile is a set of lanes (a mask) with ranks counted from its first lane; its operations are the
// warp's, with that mask and the tile's size as width. What waits for other threads is inlined, so
// that a finding is at the line of whoever calls it.
#pragma once

#include "onepass_simulator/barriers.h"
#include "onepass_simulator/bit_intrinsics.h"
#include "onepass_simulator/clusters.h"
#include "onepass_simulator/warp.h"

namespace cooperative_groups {

/// All threads of the block.
class thread_block {
 public:
  static __forceinline__ void sync() { __syncthreads(); }
  static unsigned long long size() { return num_threads(); }
  static unsigned num_threads() { return blockDim.x * blockDim.y * blockDim.z; }
  static unsigned thread_rank() {
    return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  }
  static dim3 group_index() { return blockIdx; }
  static dim3 thread_index() { return threadIdx; }
  static dim3 group_dim() { return blockDim; }
  static dim3 dim_threads() { return blockDim; }
};
inline thread_block this_thread_block() {
  return {};
}

namespace details {

inline unsigned lane() {
  return thread_block::thread_rank() % 32;
}

/// Lanes of one warp, given by their mask.
class lanes {
 public:
  explicit lanes(unsigned mask) : mask_(mask) {}
  unsigned num_threads() const { return static_cast<unsigned>(__popc(mask_)); }
  unsigned long long size() const { return num_threads(); }
  unsigned thread_rank() const {
    return static_cast<unsigned>(__popc(mask_ & ((1u << lane()) - 1)));
  }
  __forceinline__ void sync() const { __syncwarp(mask_); }
  __forceinline__ int any(int predicate) const { return __any_sync(mask_, predicate); }
  __forceinline__ int all(int predicate) const { return __all_sync(mask_, predicate); }
  __forceinline__ unsigned ballot(int predicate) const {
    return pack(__ballot_sync(mask_, predicate));
  }
  template <typename T>
  __forceinline__ unsigned match_any(T value) const {
    return pack(__match_any_sync(mask_, value));
  }

 protected:
  unsigned member_mask() const { return mask_; }
  /// The bits of a warp-wide mask at this group's lanes, side by side.
  unsigned pack(unsigned warp_mask) const {
    unsigned packed = 0;
    unsigned rank = 0;
    for (unsigned rest = mask_; rest != 0; rest &= rest - 1, ++rank) {
      packed |= (warp_mask >> __builtin_ctz(rest) & 1u) << rank;
    }
    return packed;
  }
  /// The lane of the group's member of this rank.
  int lane_of(unsigned rank) const {
    unsigned rest = mask_;
    for (; rank > 0 && (rest & (rest - 1)) != 0; --rank) {
      rest &= rest - 1;
    }
    return __builtin_ctz(rest);
  }

 private:
  unsigned mask_;
};

inline unsigned tile_mask(unsigned size) {
  const unsigned first = lane() / size * size;
  return (size == 32 ? 0xffffffffu : (1u << size) - 1) << first;
}

}  // namespace details

/// `size` neighbouring lanes. Ranks are lanes, so shuffles go straight to the warp's.
template <unsigned size_, typename Parent = void>
class thread_block_tile : public details::lanes {
  static_assert(size_ >= 1 && size_ <= 32 && (size_ & (size_ - 1)) == 0,
                "a tile has 1, 2, 4, 8, 16 or 32 threads; larger ones cannot be simulated: grade "
                "this on a GPU");

 public:
  thread_block_tile() : lanes(details::tile_mask(size_)) {}
  template <typename Other>
  thread_block_tile(const thread_block_tile<size_, Other>&) : thread_block_tile() {}
  static constexpr unsigned long long size() { return size_; }
  static constexpr unsigned num_threads() { return size_; }
  static unsigned thread_rank() { return details::lane() % size_; }
  static unsigned meta_group_rank() { return thread_block::thread_rank() / size_; }
  static unsigned meta_group_size() { return (thread_block::num_threads() + size_ - 1) / size_; }

  template <typename T>
  __forceinline__ T shfl(T value, int rank) const {
    return __shfl_sync(member_mask(), value, rank, size_);
  }
  template <typename T>
  __forceinline__ T shfl_up(T value, unsigned delta) const {
    return __shfl_up_sync(member_mask(), value, delta, size_);
  }
  template <typename T>
  __forceinline__ T shfl_down(T value, unsigned delta) const {
    return __shfl_down_sync(member_mask(), value, delta, size_);
  }
  template <typename T>
  __forceinline__ T shfl_xor(T value, unsigned mask) const {
    return __shfl_xor_sync(member_mask(), value, static_cast<int>(mask), size_);
  }
};

/// The lanes that reached coalesced_threads() together, ranked in their order.
class coalesced_group : public details::lanes {
 public:
  using lanes::lanes;
  template <typename T>
  __forceinline__ T shfl(T value, unsigned rank) const {
    return __shfl_sync(member_mask(), value, lane_of(rank));
  }
  template <typename T>
  __forceinline__ T shfl_up(T value, unsigned delta) const {
    const unsigned rank = thread_rank();
    return shfl(value, rank >= delta ? rank - delta : rank);
  }
  template <typename T>
  __forceinline__ T shfl_down(T value, unsigned delta) const {
    const unsigned rank = thread_rank() + delta;
    return shfl(value, rank < num_threads() ? rank : rank - delta);
  }
  unsigned meta_group_rank() const { return 0; }
  unsigned meta_group_size() const { return 1; }
};
__forceinline__ coalesced_group coalesced_threads() {
  return coalesced_group(__activemask());
}

template <unsigned size, typename Parent>
thread_block_tile<size, Parent> tiled_partition(const Parent&) {
  return {};
}

template <typename Group>
__forceinline__ void sync(const Group& group) {
  group.sync();
}
template <typename Group>
unsigned thread_rank(const Group& group) {
  return group.thread_rank();
}

/// All threads of the grid.
class grid_group {
 public:
  /// Whether the launch was a cooperative one: only then there is sync().
  static bool is_valid() { return simulator::is_cooperative_launch(); }
  static unsigned long long size() { return num_blocks() * thread_block::size(); }
  static unsigned long long num_threads() { return size(); }
  static unsigned long long num_blocks() {
    return static_cast<unsigned long long>(gridDim.x) * gridDim.y * gridDim.z;
  }
  static unsigned long long block_rank() {
    return blockIdx.x +
           gridDim.x * (blockIdx.y + static_cast<unsigned long long>(gridDim.y) * blockIdx.z);
  }
  static unsigned long long thread_rank() {
    return block_rank() * thread_block::size() + thread_block::thread_rank();
  }
  static dim3 dim_blocks() { return gridDim; }
  static dim3 group_dim() { return gridDim; }
  static dim3 block_index() { return blockIdx; }
  static dim3 dim_clusters() { return simulator::number_of_clusters(); }
  static unsigned long long num_clusters() {
    const dim3 clusters = dim_clusters();
    return static_cast<unsigned long long>(clusters.x) * clusters.y * clusters.z;
  }
  static dim3 cluster_index() { return simulator::place_of_cluster(); }
  static unsigned long long cluster_rank() {
    const dim3 clusters = dim_clusters();
    const dim3 place = cluster_index();
    return place.x + clusters.x * (place.y + static_cast<unsigned long long>(clusters.y) * place.z);
  }
  static __forceinline__ void sync() {
  barrier:  // see ONEPASS_BARRIER
    simulator::grid_barrier(&&barrier);
  }
  template <typename T = void>
  static void barrier_arrive() {
    static_assert(sizeof(T*) == 0,
                  "cooperative_groups::grid_group::barrier_arrive() (the grid's barrier in two "
                  "halves) cannot be simulated on a CPU: write sync(), or grade this on a GPU");
  }
};
inline grid_group this_grid() {
  return {};
}

/// All threads of the cluster, which is the block alone where the launch has none.
class cluster_group {
 public:
  struct arrival_token {};

  static __forceinline__ void sync() {
    simulator::wait_at_cluster(simulator::ClusterBarrier::sync);
  }
  static __forceinline__ arrival_token barrier_arrive() {
    simulator::arrive_at_cluster();
    return {};
  }
  static __forceinline__ void barrier_wait() {
    simulator::wait_at_cluster(simulator::ClusterBarrier::wait);
  }
  static __forceinline__ void barrier_wait(arrival_token&&) { barrier_wait(); }

  /// The same variable of another block's shared memory.
  template <typename T>
  static __forceinline__ T* map_shared_rank(T* pointer, int rank) {
    return static_cast<T*>(
        simulator::map_shared(const_cast<void*>(static_cast<const volatile void*>(pointer)),
                              static_cast<unsigned>(rank)));
  }
  static __forceinline__ unsigned query_shared_rank(const void* pointer) {
    return simulator::rank_of_shared(pointer);
  }

  static dim3 dim_blocks() { return simulator::cluster_size(); }
  static unsigned num_blocks() { return simulator::cluster_blocks(); }
  static dim3 block_index() { return simulator::place_in_cluster(); }
  static unsigned block_rank() { return simulator::rank_in_cluster(); }
  static unsigned thread_rank() {
    return block_rank() * thread_block::num_threads() + thread_block::thread_rank();
  }
  static dim3 thread_index() {
    const dim3 block = block_index();
    return {block.x * blockDim.x + threadIdx.x, block.y * blockDim.y + threadIdx.y,
            block.z * blockDim.z + threadIdx.z};
  }
  static dim3 dim_threads() {
    const dim3 size = dim_blocks();
    return {size.x * blockDim.x, size.y * blockDim.y, size.z * blockDim.z};
  }
  static unsigned num_threads() { return num_blocks() * thread_block::num_threads(); }
  static unsigned size() { return num_threads(); }
};
inline cluster_group this_cluster() {
  return {};
}

}  // namespace cooperative_groups
