#include "worker/gate_gpu.h"

#include <chrono>
#include <thread>

#include "worker/device_gpu.h"

namespace onepass::worker {
namespace {

constexpr std::chrono::seconds kLongest(2);

}  // namespace

void Gate::close(std::initializer_list<cudaStream_t> streams) {
  if (stream_ == nullptr) {
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "make a stream");
    check(cudaEventCreateWithFlags(&opened_, cudaEventDisableTiming), "make an event");
  }
  is_open_ = has_expired_ = false;
  check(cudaLaunchHostFunc(stream_, wait, this), "hold a stream");
  check(cudaEventRecord(opened_, stream_), "hold a stream");
  for (cudaStream_t stream : streams) {
    check(cudaStreamWaitEvent(stream, opened_, 0), "hold a stream");
  }
}

/// On CUDA's own thread.
void CUDART_CB Gate::wait(void* gate) {
  auto& self = *static_cast<Gate*>(gate);
  const auto deadline = std::chrono::steady_clock::now() + kLongest;
  while (!self.is_open_) {
    if (std::chrono::steady_clock::now() > deadline) {
      self.has_expired_ = true;
      return;
    }
    std::this_thread::yield();
  }
}

}  // namespace onepass::worker
