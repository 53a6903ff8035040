// cooperative_groups::memcpy_async(), wait() and wait_prior(): asynchronous copies of a group.
//
// Each call is a batch of every thread of the group; a wait is the thread's own, and then one for
// the others of the group.
#pragma once

#include "../cooperative_groups.h"
#include "../onepass_simulator/group_copies.h"

namespace cooperative_groups {

namespace details {

/// Where the types promise less than the hardware's 4 bytes, the addresses are asked.
template <std::size_t alignment, typename Group>
__forceinline__ void copy(const Group& group, void* to, const void* from, size_t bytes) {
  size_t piece = alignment < 16 ? alignment : 16;
  const size_t all = reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from) | bytes;
  while (alignment < 4 && piece < 16 && all % (2 * piece) == 0) piece *= 2;
  simulator::copy_together<alignment>(group, to, from, bytes, piece);
}

}  // namespace details

/// Of `bytes` bytes: size_t, or cuda::aligned_size_t.
template <typename Group, typename T, typename Bytes>
__forceinline__ void memcpy_async(const Group& group, T* to, const T* from, const Bytes& bytes) {
  details::copy<simulator::alignment_of<T, Bytes>>(group, to, from, bytes);
  simulator::commit_copies();
}

/// Of as many elements as both have.
template <typename Group, typename T, typename ToCount, typename FromCount>
__forceinline__ void memcpy_async(const Group& group, T* to, const ToCount& to_count, const T* from,
                                  const FromCount& from_count) {
  const size_t count = to_count < from_count ? size_t(to_count) : size_t(from_count);
  details::copy<simulator::alignment_of<T, ToCount>>(group, to, from, count * sizeof(T));
  simulator::commit_copies();
}

/// Until all but the last `batches` have landed, those of all threads of the group.
template <unsigned batches, typename Group>
__forceinline__ void wait_prior(const Group& group) {
  simulator::wait_for_copies(batches);
  group.sync();
}
template <typename Group>
__forceinline__ void wait(const Group& group) {
  wait_prior<0>(group);
}

}  // namespace cooperative_groups
