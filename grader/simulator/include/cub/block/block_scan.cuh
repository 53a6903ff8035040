// cub::BlockScan: in each thread, the values of the threads before it together.
//
// CUB's three algorithms are one here: each warp scans its own values, then each thread adds what
// the warps before its own have.
#pragma once

#include "../onepass/collective.h"
#include "../thread/thread_reduce.cuh"

namespace cub {

enum BlockScanAlgorithm {
  BLOCK_SCAN_RAKING,
  BLOCK_SCAN_RAKING_MEMOIZE,
  BLOCK_SCAN_WARP_SCANS,
};

template <typename T, int BLOCK_DIM_X, BlockScanAlgorithm ALGORITHM = BLOCK_SCAN_RAKING,
          int BLOCK_DIM_Y = 1, int BLOCK_DIM_Z = 1, int LEGACY_PTX_ARCH = 0>
class BlockScan {
  static constexpr int kThreads = BLOCK_DIM_X * BLOCK_DIM_Y * BLOCK_DIM_Z;
  static constexpr int kWarps = (kThreads + 31) / 32;
  using Plus = ::cuda::std::plus<>;

  struct Storage {
    T of_warp[kWarps];
    T prefix;
  };

  /// A value, or an array of them that lies side by side in the scan.
  class Input {
   public:
    __forceinline__ Input(T value) : value_(value), items_(&value_), count_(1) {}
    template <int count>
    __forceinline__ Input(const T (&items)[count]) : value_(), items_(items), count_(count) {}
    Input(const Input&) = delete;
    __forceinline__ const T& operator[](int i) const { return items_[i]; }
    __forceinline__ int count() const { return count_; }

   private:
    const T value_;
    const T* const items_;
    const int count_;
  };
  class Output {
   public:
    __forceinline__ Output(T& value) : items_(&value) {}
    template <int count>
    __forceinline__ Output(T (&items)[count]) : items_(items) {}
    __forceinline__ T& operator[](int i) const { return items_[i]; }

   private:
    T* const items_;
  };

 public:
  struct TempStorage : Uninitialized<Storage> {};

  __forceinline__ BlockScan() : BlockScan(detail::private_storage<TempStorage>()) {}
  __forceinline__ BlockScan(TempStorage& storage)
      : storage_(storage.Alias()), thread_(detail::thread_in_block()) {
    detail::check_block_shape<BLOCK_DIM_X, BLOCK_DIM_Y, BLOCK_DIM_Z>("cub::BlockScan");
  }

  // In all of these: `aggregate` becomes the values of the whole block together, in every thread.
  // `prefix` is called by the first warp with that, and lane 0's answer comes before all values.

  // ---- With the own value

  __forceinline__ void InclusiveSum(const Input& input, Output output) {
    InclusiveScan(input, output, Plus());
  }
  __forceinline__ void InclusiveSum(const Input& input, Output output, T& aggregate) {
    InclusiveScan(input, output, Plus(), aggregate);
  }
  template <typename Prefix>
  __forceinline__ void InclusiveSum(const Input& input, Output output, Prefix& prefix) {
    InclusiveScan(input, output, Plus(), prefix);
  }
  template <typename Operation>
  __forceinline__ void InclusiveScan(const Input& input, Output output, Operation operation) {
    scan_threads(input, operation).template write<true>(input, output, operation);
  }
  template <typename Operation>
  __forceinline__ void InclusiveScan(const Input& input, Output output, Operation operation,
                                     T& aggregate) {
    const Sums sums = scan_threads(input, operation);
    sums.template write<true>(input, output, operation);
    aggregate = sums.aggregate;
  }
  template <typename Operation, typename Prefix>
  __forceinline__ void InclusiveScan(const Input& input, Output output, Operation operation,
                                     Prefix& prefix) {
    scan_behind(prefix, input, operation).template write<true>(input, output, operation);
  }
  template <typename Operation>
  __forceinline__ void InclusiveScan(const Input& input, Output output, T initial_value,
                                     Operation operation) {
    scan_threads(input, operation)
        .behind(initial_value, operation)
        .template write<true>(input, output, operation);
  }
  template <typename Operation>
  __forceinline__ void InclusiveScan(const Input& input, Output output, T initial_value,
                                     Operation operation, T& aggregate) {
    const Sums sums = scan_threads(input, operation);
    sums.behind(initial_value, operation).template write<true>(input, output, operation);
    aggregate = sums.aggregate;
  }

  // ---- Without it. Where nothing comes before thread 0, its first result is undefined.

  __forceinline__ void ExclusiveSum(const Input& input, Output output) {
    ExclusiveScan(input, output, T(), Plus());
  }
  __forceinline__ void ExclusiveSum(const Input& input, Output output, T& aggregate) {
    ExclusiveScan(input, output, T(), Plus(), aggregate);
  }
  template <typename Prefix>
  __forceinline__ void ExclusiveSum(const Input& input, Output output, Prefix& prefix) {
    ExclusiveScan(input, output, Plus(), prefix);
  }
  template <typename Operation>
  __forceinline__ void ExclusiveScan(const Input& input, Output output, Operation operation) {
    scan_threads(input, operation).template write<false>(input, output, operation);
  }
  template <typename Operation>
  __forceinline__ void ExclusiveScan(const Input& input, Output output, Operation operation,
                                     T& aggregate) {
    const Sums sums = scan_threads(input, operation);
    sums.template write<false>(input, output, operation);
    aggregate = sums.aggregate;
  }
  template <typename Operation, typename Prefix>
  __forceinline__ void ExclusiveScan(const Input& input, Output output, Operation operation,
                                     Prefix& prefix) {
    scan_behind(prefix, input, operation).template write<false>(input, output, operation);
  }
  template <typename Operation>
  __forceinline__ void ExclusiveScan(const Input& input, Output output, T initial_value,
                                     Operation operation) {
    scan_threads(input, operation)
        .behind(initial_value, operation)
        .template write<false>(input, output, operation);
  }
  template <typename Operation>
  __forceinline__ void ExclusiveScan(const Input& input, Output output, T initial_value,
                                     Operation operation, T& aggregate) {
    const Sums sums = scan_threads(input, operation);
    sums.behind(initial_value, operation).template write<false>(input, output, operation);
    aggregate = sums.aggregate;
  }

 private:
  /// What a thread knows when all threads' sums have met.
  struct Sums {
    bool has_before;  // anything before the thread's own values
    T before;
    T aggregate;  // of the block

    template <typename Operation>
    __forceinline__ Sums behind(T first, Operation operation) const {
      return {true, has_before ? operation(first, before) : first, aggregate};
    }

    template <bool is_inclusive, typename Operation>
    __forceinline__ void write(const Input& input, Output output, Operation operation) const {
      T sum = before;
      for (int i = 0; i < input.count(); ++i) {
        const bool is_first = i == 0 && !has_before;
        const T next = is_first ? input[i] : operation(sum, input[i]);
        output[i] = is_inclusive ? next
                    : is_first   ? detail::undefined_result(sum, "cub::BlockScan")
                                 : sum;
        sum = next;
      }
    }
  };

  template <typename Operation>
  __forceinline__ Sums scan_threads(const Input& input, Operation operation) {
    T own = input[0];
    for (int i = 1; i < input.count(); ++i) own = operation(own, input[i]);
    const detail::Lanes lanes = detail::lanes_of_warp(thread_);
    const T inclusive = detail::scan_lanes(lanes, own, operation);
    Sums sums = {lanes.rank > 0, lanes.value_of(lanes.rank > 0 ? lanes.rank - 1 : 0, inclusive),
                 inclusive};
    if (lanes.rank == lanes.count - 1) storage_.of_warp[thread_ / 32] = inclusive;
    __syncthreads();
    T warps = storage_.of_warp[0];
    for (int warp = 1; warp < kWarps; ++warp) {
      if (warp == thread_ / 32) sums = sums.behind(warps, operation);
      warps = operation(warps, storage_.of_warp[warp]);
    }
    sums.aggregate = warps;
    return sums;
  }

  template <typename Prefix, typename Operation>
  __forceinline__ Sums scan_behind(Prefix& prefix, const Input& input, Operation operation) {
    const Sums sums = scan_threads(input, operation);
    if (thread_ < 32) {
      const T first = prefix(sums.aggregate);
      if (thread_ == 0) storage_.prefix = first;
    }
    __syncthreads();
    return sums.behind(storage_.prefix, operation);
  }

  Storage& storage_;
  const int thread_;
};

}  // namespace cub
