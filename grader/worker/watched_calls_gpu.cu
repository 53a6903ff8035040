#include "worker/watched_calls_gpu.h"

#include <algorithm>
#include <string>
#include <utility>

#include "simulator/host_call_findings.h"
#include "worker/call_outcome.h"

namespace onepass::worker {
namespace {

cudaMemoryType type_of(const void* pointer) {
  cudaPointerAttributes attributes;
  return cudaPointerGetAttributes(&attributes, pointer) == cudaSuccess ? attributes.type
                                                                       : cudaMemoryTypeUnregistered;
}

bool is_within_device(const void* to, const void* from, cudaMemcpyKind kind) {
  return kind == cudaMemcpyDeviceToDevice ||
         (kind == cudaMemcpyDefault && type_of(to) == cudaMemoryTypeDevice &&
          type_of(from) == cudaMemoryTypeDevice);
}

/// Of a copy that names no stream.
void note_copy(const void* to, const void* from, cudaMemcpyKind kind, const char* call) {
  if (!watched_calls().are_wanted()) {
    return;
  }
  is_within_device(to, from, kind) ? watched_calls().note_work(nullptr, call)
                                   : watched_calls().note_wait(call);
}

void note_async_copy(const void* to, cudaMemcpyKind kind, cudaStream_t stream, const char* call) {
  if (!watched_calls().are_wanted()) {
    return;
  }
  watched_calls().note_work(stream, call);
  const bool may_be_host = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDefault;
  if (may_be_host && type_of(to) == cudaMemoryTypeUnregistered) {
    watched_calls().note_wait(std::string(call) +
                              " to memory that is not page-locked (cudaMallocHost())");
  }
}

/// Is it about the copy itself? An error of a kernel that ran before may come up here, too.
bool is_refusal(cudaError_t error) {
  return error == cudaErrorInvalidValue || error == cudaErrorInvalidPitchValue ||
         error == cudaErrorInvalidSymbol || error == cudaErrorInvalidDevicePointer ||
         error == cudaErrorInvalidMemcpyDirection;
}

}  // namespace

void WatchedCalls::watch(cudaStream_t stream, std::function<void()> before_waiting) {
  is_watching_ = true;
  stream_ = stream;
  before_waiting_ = std::move(before_waiting);
}

void WatchedCalls::unwatch() {
  is_watching_ = false;
  for (const auto& [memory, taken] : std::exchange(taken_, {})) {
    add(simulator::memory_kept(taken.call, taken.bytes));
  }
}

void WatchedCalls::add(simulator::Finding finding) {
  if (std::none_of(findings_.begin(), findings_.end(),
                   [&](const auto& other) { return other.kind == finding.kind; })) {
    findings_.push_back(std::move(finding));
  }
}

std::vector<simulator::Finding> WatchedCalls::take() {
  return std::exchange(findings_, {});
}

void WatchedCalls::note_work(cudaStream_t stream, const char* call) {
  if (is_watching_ && stream != stream_) {
    add(simulator::work_on_other_stream(call, stream == nullptr || stream == cudaStreamLegacy));
  }
}

void WatchedCalls::note_launch(const void* kernel, cudaStream_t stream) {
  note_work(stream, "A launch");
  cudaFuncAttributes attributes;
  if (is_watching_ && cudaFuncGetAttributes(&attributes, kernel) == cudaSuccess &&
      attributes.localSizeBytes > kLocalMemory) {
    before_waiting_();
  }
}

void WatchedCalls::note_wait(const std::string& call) {
  if (is_watching_) {
    add(simulator::host_waiting(call));
    before_waiting_();
  }
}

cudaError_t WatchedCalls::note_taken(const char* call, cudaError_t error, void* const* memory,
                                     size_t bytes) {
  if (is_watching_ && error == cudaSuccess && *memory != nullptr) {
    taken_[*memory] = {call, bytes};
  }
  return error;
}

cudaError_t WatchedCalls::note_answer(const char* call, cudaError_t error) {
  if (is_watching_ && is_refusal(error)) {
    add(simulator::refused_copy(call, error_text(error)));
  }
  return error;
}

WatchedCalls& watched_calls() {
  static WatchedCalls calls;
  return calls;
}

}  // namespace onepass::worker

using onepass::worker::note_async_copy;
using onepass::worker::note_copy;
using onepass::worker::watched_calls;

// The linker knows the function itself as __real_... . Not all versions of CUDA have each of them.
#define ONEPASS_IN_PLACE_OF(function, parameters, note, answer)              \
  extern "C" __attribute__((weak)) cudaError_t __real_##function parameters; \
  extern "C" cudaError_t __wrap_##function parameters {                      \
    note;                                                                    \
    return answer;                                                           \
  }
#define ONEPASS_WATCH(function, parameters, arguments, note) \
  ONEPASS_IN_PLACE_OF(function, parameters, note, __real_##function arguments)
#define ONEPASS_WATCH_COPY(function, parameters, arguments, note) \
  ONEPASS_IN_PLACE_OF(function, parameters, note,                 \
                      watched_calls().note_answer(#function "()", __real_##function arguments))
/// Of p and n: where the pointer goes, and how many bytes.
#define ONEPASS_WATCH_TAKING(function, parameters, arguments, note) \
  ONEPASS_IN_PLACE_OF(                                              \
      function, parameters, note,                                   \
      watched_calls().note_taken(#function "()", __real_##function arguments, p, n))

// grader/cmake/watched_calls.cmake reads their names here.
ONEPASS_WATCH(cudaDeviceSynchronize, (), (), watched_calls().note_wait("cudaDeviceSynchronize()"))
ONEPASS_WATCH(cudaStreamSynchronize, (cudaStream_t s), (s),
              watched_calls().note_wait("cudaStreamSynchronize()"))
ONEPASS_WATCH(cudaEventSynchronize, (cudaEvent_t e), (e),
              watched_calls().note_wait("cudaEventSynchronize()"))
ONEPASS_WATCH(cudaStreamQuery, (cudaStream_t s), (s),
              watched_calls().note_wait("Asking again and again by cudaStreamQuery()"))
ONEPASS_WATCH(cudaEventQuery, (cudaEvent_t e), (e),
              watched_calls().note_wait("Asking again and again by cudaEventQuery()"))
ONEPASS_WATCH(cudaFree, (void* p), (p), {
  watched_calls().note_given_back(p);
  if (p != nullptr) watched_calls().note_wait("cudaFree()");
})
ONEPASS_WATCH(cudaFreeHost, (void* p), (p), watched_calls().note_given_back(p))
ONEPASS_WATCH_TAKING(cudaMalloc, (void** p, size_t n), (p, n), )
ONEPASS_WATCH_TAKING(cudaMallocHost, (void** p, size_t n), (p, n), )
ONEPASS_WATCH_TAKING(cudaHostAlloc, (void** p, size_t n, unsigned flags), (p, n, flags), )
ONEPASS_WATCH_TAKING(cudaMallocManaged, (void** p, size_t n, unsigned flags), (p, n, flags), )
ONEPASS_WATCH_COPY(cudaMemcpy, (void* to, const void* from, size_t n, cudaMemcpyKind kind),
                   (to, from, n, kind), note_copy(to, from, kind, "cudaMemcpy()"))
ONEPASS_WATCH_COPY(cudaMemcpy2D,
                   (void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                    size_t height, cudaMemcpyKind kind),
                   (to, to_pitch, from, from_pitch, width, height, kind),
                   note_copy(to, from, kind, "cudaMemcpy2D()"))
ONEPASS_WATCH_COPY(cudaMemcpyToSymbol,
                   (const void* symbol, const void* from, size_t n, size_t offset,
                    cudaMemcpyKind kind),
                   (symbol, from, n, offset, kind),
                   note_copy(nullptr, from, kind, "cudaMemcpyToSymbol()"))
ONEPASS_WATCH_COPY(cudaMemcpyFromSymbol,
                   (void* to, const void* symbol, size_t n, size_t offset, cudaMemcpyKind kind),
                   (to, symbol, n, offset, kind),
                   note_copy(to, nullptr, kind, "cudaMemcpyFromSymbol()"))
ONEPASS_WATCH_COPY(cudaMemcpyAsync,
                   (void* to, const void* from, size_t n, cudaMemcpyKind kind, cudaStream_t s),
                   (to, from, n, kind, s), note_async_copy(to, kind, s, "cudaMemcpyAsync()"))
ONEPASS_WATCH_COPY(cudaMemcpy2DAsync,
                   (void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                    size_t height, cudaMemcpyKind kind, cudaStream_t s),
                   (to, to_pitch, from, from_pitch, width, height, kind, s),
                   note_async_copy(to, kind, s, "cudaMemcpy2DAsync()"))
ONEPASS_WATCH_COPY(cudaMemcpyToSymbolAsync,
                   (const void* symbol, const void* from, size_t n, size_t offset,
                    cudaMemcpyKind kind, cudaStream_t s),
                   (symbol, from, n, offset, kind, s),
                   watched_calls().note_work(s, "cudaMemcpyToSymbolAsync()"))
ONEPASS_WATCH_COPY(cudaMemcpyFromSymbolAsync,
                   (void* to, const void* symbol, size_t n, size_t offset, cudaMemcpyKind kind,
                    cudaStream_t s),
                   (to, symbol, n, offset, kind, s),
                   note_async_copy(to, kind, s, "cudaMemcpyFromSymbolAsync()"))
ONEPASS_WATCH_COPY(cudaMemset, (void* p, int value, size_t n), (p, value, n),
                   watched_calls().note_work(nullptr, "cudaMemset()"))
ONEPASS_WATCH_COPY(cudaMemset2D, (void* p, size_t pitch, int value, size_t width, size_t height),
                   (p, pitch, value, width, height),
                   watched_calls().note_work(nullptr, "cudaMemset2D()"))
ONEPASS_WATCH_COPY(cudaMemsetAsync, (void* p, int value, size_t n, cudaStream_t s),
                   (p, value, n, s), watched_calls().note_work(s, "cudaMemsetAsync()"))
ONEPASS_WATCH_COPY(cudaMemset2DAsync,
                   (void* p, size_t pitch, int value, size_t width, size_t height, cudaStream_t s),
                   (p, pitch, value, width, height, s),
                   watched_calls().note_work(s, "cudaMemset2DAsync()"))
ONEPASS_WATCH_TAKING(cudaMallocAsync, (void** p, size_t n, cudaStream_t s), (p, n, s),
                     watched_calls().note_work(s, "cudaMallocAsync()"))
ONEPASS_WATCH(cudaFreeAsync, (void* p, cudaStream_t s), (p, s), {
  watched_calls().note_given_back(p);
  watched_calls().note_work(s, "cudaFreeAsync()");
})
ONEPASS_WATCH(cudaLaunchKernel,
              (const void* kernel, dim3 grid, dim3 block, void** arguments, size_t shared,
               cudaStream_t s),
              (kernel, grid, block, arguments, shared, s), watched_calls().note_launch(kernel, s))
ONEPASS_WATCH(__cudaLaunchKernel,
              (const void* kernel, dim3 grid, dim3 block, void** arguments, size_t shared,
               cudaStream_t s),
              (kernel, grid, block, arguments, shared, s), watched_calls().note_launch(kernel, s))
ONEPASS_WATCH(cudaLaunchKernelExC,
              (const cudaLaunchConfig_t* config, const void* kernel, void** arguments),
              (config, kernel, arguments), watched_calls().note_launch(kernel, config->stream))
ONEPASS_WATCH(cudaLaunchCooperativeKernel,
              (const void* kernel, dim3 grid, dim3 block, void** arguments, size_t shared,
               cudaStream_t s),
              (kernel, grid, block, arguments, shared, s), watched_calls().note_launch(kernel, s))
