// What a launcher does beside its launches: a GPU has no trace of it in its results. So the linker
// gives a program the functions of watched_calls_gpu.cu for those of CUDA that wait for the device
// or take a stream, and they tell of it as the simulator does.
#pragma once

#include <cuda_runtime.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "simulator/observations.h"

namespace onepass::worker {

/// Bytes of local memory (spilled registers, arrays) that each thread may have without ado. To get
/// more of it for a launch, CUDA waits for the device.
constexpr size_t kLocalMemory = 8 << 10;

class WatchedCalls {
 public:
  /// From now on work belongs on this stream. before_waiting: called before the host waits.
  void watch(cudaStream_t stream, std::function<void()> before_waiting);
  /// Tells what has been kept.
  void unwatch();
  bool are_wanted() const { return is_watching_; }

  void add(simulator::Finding finding);
  std::vector<simulator::Finding> take();

  void note_work(cudaStream_t stream, const char* call);
  void note_launch(const void* kernel, cudaStream_t stream);
  void note_wait(const std::string& call);
  /// Memory of the device, or page-locked memory of the host. note_taken: returns what the call has
  /// answered.
  cudaError_t note_taken(const char* call, cudaError_t error, void* const* memory, size_t bytes);
  void note_given_back(const void* memory) { taken_.erase(memory); }
  /// What a copy or a fill has answered, which this returns.
  cudaError_t note_answer(const char* call, cudaError_t error);

 private:
  struct Taken {
    const char* call;
    size_t bytes;
  };

  bool is_watching_ = false;
  cudaStream_t stream_ = nullptr;
  std::function<void()> before_waiting_;
  std::map<const void*, Taken> taken_;        // while watching, and not given back
  std::vector<simulator::Finding> findings_;  // one of each kind: the first
};

/// The only one: CUDA's functions carry no handle.
WatchedCalls& watched_calls();

}  // namespace onepass::worker
