// Holds back what a launcher puts on its stream until it has returned. So its host code cannot see
// a result, nor an input that a kernel has copied for it, by whatever way: memory that both sides
// reach, page-locked or not, or a copy that is made while the host goes on.
#pragma once

#include <cuda_runtime.h>

#include <atomic>
#include <initializer_list>

namespace onepass::worker {

class Gate {
 public:
  /// From now on these streams wait, until open() or for two seconds.
  void close(std::initializer_list<cudaStream_t> streams);
  void open() { is_open_ = true; }

  /// Were they done waiting before open()?
  bool has_expired() const { return has_expired_; }

 private:
  static void CUDART_CB wait(void* gate);

  cudaStream_t stream_ = nullptr;
  cudaEvent_t opened_ = nullptr;
  std::atomic<bool> is_open_{true};
  std::atomic<bool> has_expired_{false};
};

}  // namespace onepass::worker
