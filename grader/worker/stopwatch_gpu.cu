// Times calls on a GPU by events, each with a cold L2.
//
//     flush        reads four times as many bytes as L2 holds. Reading leaves no dirty lines
//     behind,
//                  whose write-back would fall into the timed region. It tells the clock, too: a
//                  call at a low one is to be timed again.
//     start        event
//     the call     its launches are queued while the flush is still running, so that the time
//                  between the events is the device's, not that of launching
//     stop         event
//     idle         event, after the whole device has come to rest: work that a launcher hid in
//                  another stream ends between stop and idle, and is counted
#include <algorithm>
#include <cstdint>
#include <stdexcept>

#include "worker/call_outcome.h"
#include "worker/device_gpu.h"

namespace onepass::worker {
namespace {

constexpr int kFlushThreads = 256;
constexpr int kCopyThreads = 256;
constexpr int kMostPasses = 32;  // of the flush, while the call's launches are being queued
constexpr int kTrialCalls = 8;
constexpr double kLateMs = 0.02;    // work after `stop` counts from here on
constexpr double kLowClock = 0.75;  // of the highest clock seen: not fit to measure at
constexpr size_t kLeastFlushBytes = size_t{32} << 20;

/// How far the clock of a multiprocessor and that of the time of day went meanwhile.
struct Ticks {
  long long cycles;
  long long nanoseconds;
};

__device__ Ticks now() {
  long long nanoseconds;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(nanoseconds));
  return {clock64(), nanoseconds};
}

/// Reads the buffer. `sink` is never written, which the compiler cannot know. `ticks`: of block 0.
__global__ void flush_kernel(const uint4* buffer, size_t count, unsigned* sink, Ticks* ticks) {
  const Ticks start = now();
  unsigned mixed = 0;
  const size_t threads = size_t{gridDim.x} * blockDim.x;
  for (size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += threads) {
    const uint4 value = buffer[i];
    mixed |= value.x | value.y | value.z | value.w;
  }
  if (mixed != 0) {  // the buffer is all zeros
    *sink = mixed;
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    const Ticks end = now();
    *ticks = {end.cycles - start.cycles, end.nanoseconds - start.nanoseconds};
  }
}

__global__ void copy_kernel(const uint4* src, uint4* dst, size_t count) {
  const size_t i = size_t{blockIdx.x} * kCopyThreads + threadIdx.x;
  if (i < count) {
    dst[i] = src[i];
  }
}

/// A kernel and not cudaMemcpyAsync(): that is up to a fifth slower at some sizes (an H200 copies
/// 25.7 MB at 2973 GB/s and 33.6 MB at 3811), and no ceiling then.
void copy(const Arguments& arguments) {
  const auto bytes = static_cast<size_t>(arguments.integer("bytes"));
  if (bytes % sizeof(uint4) != 0) {
    throw std::runtime_error("a copy is of whole units of 16 bytes");
  }
  const size_t count = bytes / sizeof(uint4);
  const auto blocks = static_cast<unsigned>((count + kCopyThreads - 1) / kCopyThreads);
  copy_kernel<<<blocks, kCopyThreads, 0, static_cast<cudaStream_t>(arguments.stream())>>>(
      arguments.buffer<const uint4>("src"), arguments.buffer<uint4>("dst"), count);
}

class Event {
 public:
  Event() { check(cudaEventCreate(&event_), "make an event"); }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  operator cudaEvent_t() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

class GpuStopwatch : public Stopwatch {
 public:
  explicit GpuStopwatch(cudaStream_t stream) : stream_(stream) {
    int l2_bytes = 0;
    check(cudaDeviceGetAttribute(&l2_bytes, cudaDevAttrL2CacheSize, 0), "tell its cache");
    check(cudaDeviceGetAttribute(&multiprocessors_, cudaDevAttrMultiProcessorCount, 0),
          "tell its multiprocessors");
    flush_bytes_ = std::max(kLeastFlushBytes, 4 * static_cast<size_t>(l2_bytes));
    flush_buffer_ = allocate_on_gpu(flush_bytes_ + sizeof(uint4), "what flushes its cache");
    check(cudaMemset(flush_buffer_, 0, flush_bytes_ + sizeof(uint4)), "fill a buffer");
    check(cudaMalloc(&ticks_, sizeof(Ticks)), "allocate a buffer");
    learn_overhead();
  }
  ~GpuStopwatch() override {
    cudaFree(flush_buffer_);
    cudaFree(ticks_);
  }

  Sample time(const Function& function, const ArgumentTable& table) override {
    std::string launcher_error;
    const Times times = measure([&] { launcher_error = enter(function, table); });
    cudaSetDevice(0);  // whatever the launcher did to it
    Sample sample;
    sample.ending = classify(launcher_error, times.at_launch, times.at_end);
    if (sample.ending.outcome != Outcome::ok) {
      return sample;
    }
    // Coming to rest takes a while even if there is nothing to wait for.
    const bool worked_on = times.to_idle - times.to_stop > 2 * idle_overhead_ms_ + kLateMs;
    sample.ms = worked_on ? times.to_idle : times.to_stop;
    sample.valid = (times.queued_in_time || passes_ == kMostPasses) && !is_clock_low();
    if (!times.queued_in_time) {
      passes_ = std::min(2 * passes_, kMostPasses);
    }
    return sample;
  }

 private:
  struct Times {
    cudaError_t at_launch, at_end;
    bool queued_in_time;      // all was queued before the flush had ended
    double to_stop, to_idle;  // milliseconds from `start`
  };

  template <typename Call>
  Times measure(Call call) {
    flush();
    check(cudaEventRecord(start_, stream_), "record an event");
    call();
    Times times{};
    times.at_launch = cudaGetLastError();
    cudaEventRecord(stop_, stream_);
    times.queued_in_time = cudaEventQuery(start_) == cudaErrorNotReady;
    cudaGetLastError();  // "not ready" is no error
    times.at_end = cudaDeviceSynchronize();
    if (times.at_end == cudaSuccess) {
      check(cudaEventRecord(idle_, stream_), "record an event");
      check(cudaEventSynchronize(idle_), "wait for an event");
      times.to_stop = elapsed_ms(start_, stop_);
      times.to_idle = elapsed_ms(start_, idle_);
    }
    return times;
  }

  void flush() {
    // A launcher may have asked for lines to persist in L2; on a GPU that knows no such thing this
    // fails, and nothing is lost.
    cudaCtxResetPersistingL2Cache();
    cudaGetLastError();
    auto* const sink = reinterpret_cast<unsigned*>(flush_buffer_ + flush_bytes_);
    const auto* const buffer = reinterpret_cast<const uint4*>(flush_buffer_);
    for (int pass = 0; pass < passes_; ++pass) {
      flush_kernel<<<8 * multiprocessors_, kFlushThreads, 0, stream_>>>(
          buffer, flush_bytes_ / sizeof(uint4), sink, ticks_);
    }
    check(cudaGetLastError(), "flush its cache");
  }

  /// Did the multiprocessors run slowly during the flush, right before the call? A GPU that was
  /// idle or is hot lowers its clock, and what was timed then says nothing of the kernel.
  bool is_clock_low() {
    Ticks ticks{};
    check(cudaMemcpy(&ticks, ticks_, sizeof ticks, cudaMemcpyDeviceToHost), "read its clock");
    const double clock =
        static_cast<double>(ticks.cycles) / static_cast<double>(std::max(ticks.nanoseconds, 1LL));
    highest_clock_ = std::max(highest_clock_, clock);
    return clock < kLowClock * highest_clock_;
  }

  /// How long the device takes to come to rest after a call that does nothing.
  void learn_overhead() {
    measure([] {});  // the first one loads kernels
    for (int trial = 0; trial < kTrialCalls; ++trial) {
      const Times times = measure([] {});
      check(times.at_end, "come to rest");
      idle_overhead_ms_ = std::max(idle_overhead_ms_, times.to_idle - times.to_stop);
    }
  }

  static double elapsed_ms(cudaEvent_t from, cudaEvent_t to) {
    float ms = 0;
    check(cudaEventElapsedTime(&ms, from, to), "read its clock");
    return ms;
  }

  cudaStream_t stream_;
  Event start_, stop_, idle_;
  std::byte* flush_buffer_ = nullptr;
  size_t flush_bytes_ = 0;
  Ticks* ticks_ = nullptr;    // of the last flush
  double highest_clock_ = 0;  // GHz
  int multiprocessors_ = 0;
  int passes_ = 1;
  double idle_overhead_ms_ = 0;
};

}  // namespace

FunctionTable gpu_functions() {
  static constexpr Function table[] = {{"copy", "", copy}};
  return {table, 1};
}

std::unique_ptr<Stopwatch> make_gpu_stopwatch(cudaStream_t stream) {
  return std::make_unique<GpuStopwatch>(stream);
}

}  // namespace onepass::worker
