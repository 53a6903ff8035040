// Who takes part: cuda::thread_scope.
#pragma once

namespace cuda {

enum thread_scope {
  thread_scope_system,
  thread_scope_device,
  thread_scope_block,
  thread_scope_thread,
};

}  // namespace cuda

namespace simulator {

/// A group of the calling thread alone.
struct OneThread {
  static constexpr unsigned thread_rank() { return 0; }
  static constexpr unsigned size() { return 1; }
};

}  // namespace simulator
