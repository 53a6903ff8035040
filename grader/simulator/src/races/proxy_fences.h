// What bulk copies see of shared memory.
//
// They do not go the way that loads and stores go (in CUDA's words: they use the asynchronous
// proxy). So a store may still be on its way when a bulk copy reads that is ordered behind it, and
// besides that order the two need a fence of their own between them:
//
//     s[i] = value;
//     cuda::ptx::fence_proxy_async(cuda::ptx::space_shared);   // all, each for what it has stored
//     __syncthreads();
//     if (threadIdx.x == 0) cuda::ptx::cp_async_bulk(space_global, space_shared, y, s, bytes);
//
// A fence by another thread, which comes behind the store, does as well.
#pragma once

#include <cstddef>
#include <vector>

#include "races/ordering.h"

namespace simulator {

/// Of a block.
class ProxyFences {
 public:
  void begin(std::size_t threads) { fences_.assign(threads, AccessRecord()); }

  /// now: what the thread does first behind it.
  void fence(const AccessRecord& now) { fences_[now.thread()] = now; }

  /// Does one lie behind this store?
  bool cover(const AccessRecord& store, const Ordering& ordering) const;

 private:
  std::vector<AccessRecord> fences_;  // by thread, the last one; those that are not set: none
};

}  // namespace simulator
