// cub::BlockReduce: in thread 0, the values of all threads of a block together.
//
// Which thread writes and reads which word of the TempStorage, and in what order values meet, is as
// in CUB; the padding that keeps its columns in different banks is not there. Where CUB would go on
// to threads that are not there if num_valid is too large, kMayExceed is false.
#pragma once

#include "../onepass/collective.h"
#include "../thread/thread_reduce.cuh"

namespace cub {

enum BlockReduceAlgorithm {
  BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY,
  BLOCK_REDUCE_RAKING,
  BLOCK_REDUCE_WARP_REDUCTIONS,
};

namespace detail {

/// Each warp reduces its own values, thread 0 the results of the warps.
template <typename T, int block_threads>
struct ReduceByWarps {
  static constexpr int kWarps = (block_threads + 31) / 32;
  static constexpr bool kMayExceed = kWarps == 1 || block_threads % 32 == 0;
  struct Storage {
    T of_warp[kWarps];
  };

  template <typename Operation>
  static __forceinline__ T reduce(Storage& storage, int thread, T value, int valid,
                                  Operation operation) {
    const Lanes lanes = lanes_of_warp(thread);
    value = reduce_lanes(lanes, value, valid - thread / 32 * 32, operation);
    if (lanes.rank == 0) storage.of_warp[thread / 32] = value;
    __syncthreads();
    if (thread == 0) {
      for (int warp = 1; warp < kWarps && warp * 32 < valid; ++warp) {
        value = operation(value, storage.of_warp[warp]);
      }
    }
    return value;
  }
};

/// All threads lay down their values; each lane of the first warp takes a segment of them.
template <typename T, int block_threads>
struct ReduceByRaking {
  static constexpr int kRaking = block_threads < 32 ? block_threads : 32;
  static constexpr int kSegment = (block_threads + kRaking - 1) / kRaking;
  static constexpr int kSegments = (block_threads + kSegment - 1) / kSegment;
  static constexpr bool kMayExceed = block_threads > 32 ? block_threads % kSegments == 0
                                                        : (block_threads&(block_threads - 1)) == 0;
  struct Storage {
    T of_thread[block_threads];
  };

  template <typename Operation>
  static __forceinline__ T reduce(Storage& storage, int thread, T value, int valid,
                                  Operation operation) {
    if (valid > block_threads) valid = block_threads;
    storage.of_thread[thread] = value;
    __syncthreads();
    if (thread < kRaking) {
      const int first = thread * kSegment;
      if (first < valid) value = storage.of_thread[first];
      for (int i = first + 1; i < first + kSegment && i < valid; ++i) {
        value = operation(value, storage.of_thread[i]);
      }
      const int threads = threads_of_block();
      const Lanes lanes = {0, threads < kRaking ? threads : kRaking, thread};
      value = reduce_lanes(lanes, value, (valid + kSegment - 1) / kSegment, operation);
    }
    return value;
  }
};

/// The first warp keeps its own values, and adds those of the others: the order is not the
/// threads'.
template <typename T, int block_threads>
struct ReduceInAnyOrder {
  static constexpr bool kIsRaking = block_threads % 32 != 0 || block_threads <= 32;
  static constexpr int kSegment = (block_threads - 32) / 32;
  using InOrder = ReduceByRaking<T, block_threads>;
  static constexpr bool kMayExceed = !kIsRaking || InOrder::kMayExceed;
  using Storage = typename InOrder::Storage;

  template <typename Operation>
  static __forceinline__ T reduce(Storage& storage, int thread, T value, int valid,
                                  Operation operation) {
    if (kIsRaking || valid < block_threads) {
      return InOrder::reduce(storage, thread, value, valid, operation);
    }
    if (thread >= 32) storage.of_thread[thread - 32] = value;
    __syncthreads();
    if (thread < 32) {
      for (int i = 0; i < kSegment; ++i) {
        value = operation(value, storage.of_thread[thread * kSegment + i]);
      }
      value = reduce_lanes(Lanes{0, 32, thread}, value, 32, operation);
    }
    return value;
  }
};

template <typename T, int block_threads, BlockReduceAlgorithm algorithm>
using ReduceBlock = std::conditional_t<
    algorithm == BLOCK_REDUCE_WARP_REDUCTIONS, ReduceByWarps<T, block_threads>,
    std::conditional_t<algorithm == BLOCK_REDUCE_RAKING, ReduceByRaking<T, block_threads>,
                       ReduceInAnyOrder<T, block_threads>>>;

}  // namespace detail

template <typename T, int BLOCK_DIM_X,
          BlockReduceAlgorithm ALGORITHM = BLOCK_REDUCE_WARP_REDUCTIONS, int BLOCK_DIM_Y = 1,
          int BLOCK_DIM_Z = 1, int LEGACY_PTX_ARCH = 0>
class BlockReduce {
  static constexpr int kThreads = BLOCK_DIM_X * BLOCK_DIM_Y * BLOCK_DIM_Z;
  using Internal = detail::ReduceBlock<T, kThreads, ALGORITHM>;
  using Plus = ::cuda::std::plus<>;

 public:
  struct TempStorage : Uninitialized<typename Internal::Storage> {};

  __forceinline__ BlockReduce() : BlockReduce(detail::private_storage<TempStorage>()) {}
  __forceinline__ BlockReduce(TempStorage& storage)
      : storage_(storage), thread_(detail::thread_in_block()) {}

  __forceinline__ T Sum(T input) { return Reduce(input, Plus()); }
  __forceinline__ T Sum(T input, int num_valid) { return Reduce(input, Plus(), num_valid); }
  template <int count>
  __forceinline__ T Sum(T (&inputs)[count]) {
    return Reduce(inputs, Plus());
  }

  template <typename Operation>
  __forceinline__ T Reduce(T input, Operation operation) {
    return Reduce(input, operation, kThreads);
  }
  template <int count, typename Operation>
  __forceinline__ T Reduce(T (&inputs)[count], Operation operation) {
    return Reduce(ThreadReduce(inputs, operation), operation);
  }
  /// Of the first `num_valid` threads.
  template <typename Operation>
  __forceinline__ T Reduce(T input, Operation operation, int num_valid) {
    detail::check_block_shape<BLOCK_DIM_X, BLOCK_DIM_Y, BLOCK_DIM_Z>("cub::BlockReduce", num_valid);
    if (!Internal::kMayExceed && num_valid > kThreads) {
      simulator::too_many_valid("cub::BlockReduce", num_valid, kThreads);
    }
    const T result = Internal::reduce(storage_.Alias(), thread_, input, num_valid, operation);
    return thread_ == 0 ? result : detail::undefined_result(result, "cub::BlockReduce");
  }

 private:
  TempStorage& storage_;
  const int thread_;
};

}  // namespace cub
