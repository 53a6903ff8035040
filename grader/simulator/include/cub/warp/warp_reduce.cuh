// cub::WarpReduce: in the first lane of each logical warp, the values of its lanes together.
//
// As in CUB, the lanes exchange registers and need no shared memory. But the TempStorage belongs to
// one logical warp at a time, for another CUB, or another type, may use it. So each lane touches a
// byte of it: two warps with one TempStorage race for it.
#pragma once

#include "../onepass/collective.h"
#include "../thread/thread_operators.cuh"

namespace cub {

template <typename T, int LOGICAL_WARP_THREADS = 32>
class WarpReduce {
  static_assert(LOGICAL_WARP_THREADS >= 1 && LOGICAL_WARP_THREADS <= 32,
                "a logical warp has 1 to 32 threads");

 public:
  struct TempStorage {
    unsigned char of_lane[LOGICAL_WARP_THREADS];
  };

  __forceinline__ WarpReduce(TempStorage& storage)
      : lanes_(detail::lanes_of_logical_warp<LOGICAL_WARP_THREADS>()) {
    __tsan_write1(&storage.of_lane[lanes_.rank]);
    __tsan_read1(&storage.of_lane[lanes_.rank]);
  }

  __forceinline__ T Sum(T input) { return Reduce(input, Plus()); }
  __forceinline__ T Sum(T input, int valid_items) { return Reduce(input, Plus(), valid_items); }

  template <typename Operation>
  __forceinline__ T Reduce(T input, Operation operation) {
    return Reduce(input, operation, LOGICAL_WARP_THREADS);
  }
  /// Of the first `valid_items` lanes.
  template <typename Operation>
  __forceinline__ T Reduce(T input, Operation operation, int valid_items) {
    const T result = detail::reduce_lanes(lanes_, input, valid_items, operation);
    return lanes_.rank == 0 ? result : detail::undefined_result(result, "cub::WarpReduce");
  }

  // A segment begins at a lane whose head_flag is not zero, or ends at one whose tail_flag is not.
  // Its first lane has the result.
  template <typename Flag>
  __forceinline__ T HeadSegmentedSum(T input, Flag head_flag) {
    return HeadSegmentedReduce(input, head_flag, Plus());
  }
  template <typename Flag>
  __forceinline__ T TailSegmentedSum(T input, Flag tail_flag) {
    return TailSegmentedReduce(input, tail_flag, Plus());
  }
  template <typename Operation, typename Flag>
  __forceinline__ T HeadSegmentedReduce(T input, Flag head_flag, Operation operation) {
    const unsigned heads = flags(head_flag != 0) | 1u;
    return reduce_segment(input, heads, operation);
  }
  template <typename Operation, typename Flag>
  __forceinline__ T TailSegmentedReduce(T input, Flag tail_flag, Operation operation) {
    const unsigned heads = flags(tail_flag != 0) << 1 | 1u;
    return reduce_segment(input, heads, operation);
  }

 private:
  using Plus = ::cuda::std::plus<>;

  __forceinline__ unsigned flags(bool flag) const {
    return (__ballot_sync(lanes_.mask(), flag) & lanes_.mask()) >> lanes_.first;
  }

  /// heads: a bit for each lane of the logical warp that begins a segment.
  template <typename Operation>
  __forceinline__ T reduce_segment(T input, unsigned heads, Operation operation) {
    const unsigned later = lanes_.rank == 31 ? 0 : heads >> (lanes_.rank + 1) << (lanes_.rank + 1);
    const int next = later == 0 ? 32 : __builtin_ctz(later);
    const T result = detail::reduce_lanes(lanes_, input, next, operation);
    return heads >> lanes_.rank & 1 ? result : detail::undefined_result(result, "cub::WarpReduce");
  }

  const detail::Lanes lanes_;
};

}  // namespace cub
