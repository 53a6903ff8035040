// CUDA runtime functions: memory. Copies happen at once, whatever their stream; if work is held,
// those within the device wait for their turn, and all others for the device.
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <string>

#include "common/limits.h"
#include "runtime/runtime_result.h"
#include "simulator.h"

using namespace simulator;

namespace {

bool is_device(const void* pointer) {
  return DeviceMemory::in_range(reinterpret_cast<std::uintptr_t>(pointer));
}

/// False if `pointer` is said to be on the device and these bytes are not inside one allocation, or
/// the other way round.
bool is_right_side(const void* pointer, std::size_t bytes, bool on_device) {
  if (!on_device) return pointer != nullptr && !is_device(pointer);
  return machine().memory.device.containing(reinterpret_cast<std::uintptr_t>(pointer), bytes) !=
         nullptr;
}

/// Where in the host code a function was called, for a finding.
struct Call {
  const char* name;
  const void* site;
};

/// These bytes hold what the call has put there: numbers of the host's own, while its calls are
/// watched, or what counts as initialised.
void note_written(void* pointer, std::size_t bytes, bool by_host, const Call& call) {
  const bool in_moments = machine().access_limit > 0;  // of which nobody asks what is initialised
  if (!in_moments) mark_initialised(pointer, bytes, !by_host);
  if (!by_host) return;
  const auto begin = reinterpret_cast<std::uintptr_t>(pointer);
  machine().shadow.initialised.host_writes.add(
      {begin, begin + bytes, call.name, reinterpret_cast<CodeAddress>(call.site)});
}

bool is_written_by_host(const void* pointer, std::size_t bytes) {
  return machine().shadow.initialised.host_writes.within(reinterpret_cast<std::uintptr_t>(pointer),
                                                         bytes) != nullptr;
}

/// What cudaMallocHost() has given, by its begin, with its end.
std::map<std::uintptr_t, std::uintptr_t>& page_locked() {
  static std::map<std::uintptr_t, std::uintptr_t> all;
  return all;
}

bool is_page_locked(const void* pointer) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  const auto after = page_locked().upper_bound(address);
  return after != page_locked().begin() && address < std::prev(after)->second;
}

cudaError_t copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream,
                 const Call& call) {
  if (machine().errors.sticky() != kSuccess || bytes == 0) return result(kSuccess);
  if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault) {
    return result(cudaErrorInvalidMemcpyDirection);
  }
  const bool guess = kind == cudaMemcpyDefault;
  const bool to_device =
      guess ? is_device(to) : kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device =
      guess ? is_device(from) : kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  if (!is_right_side(to, bytes, to_device) || !is_right_side(from, bytes, from_device)) {
    return result(kErrorInvalidValue);
  }
  const bool within_device = to_device && from_device;
  if (!within_device) machine().streams.finish();
  const bool watched = machine().host_calls.are_watched();
  machine().streams.put(stream, [=] {
    const bool by_host = watched && (!from_device || is_written_by_host(from, bytes));
    const InReach in_reach(machine().memory.device);
    std::memmove(to, from, bytes);
    if (to_device) note_written(to, bytes, by_host, call);
    return false;
  });
  if (!within_device) machine().streams.finish();  // the host's side need not live any longer
  return result(kSuccess);
}

/// Of a copy that names no stream: it goes to the default stream, and the host waits for it unless
/// both sides are the device's.
void note_copy(const void* to, const void* from, const char* call, const void* site) {
  is_device(to) && is_device(from) ? note_work(nullptr, call, site) : note_wait(call, site);
}

/// Of a copy that names its stream: to memory that is not page-locked, CUDA makes the host wait.
void note_async_copy(const void* to, const void* from, cudaStream_t stream, const char* call,
                     const void* site) {
  note_work(stream, call, site);
  if (is_device(from) && !is_device(to) && !is_page_locked(to)) {
    note_wait("cudaMemcpyAsync() to memory that is not page-locked (cudaMallocHost())", site);
  }
}

cudaError_t set(void* pointer, int value, size_t bytes, cudaStream_t stream, const Call& call) {
  if (machine().errors.sticky() != kSuccess || bytes == 0) return result(kSuccess);
  if (!is_right_side(pointer, bytes, true)) return result(kErrorInvalidValue);
  const bool by_host = machine().host_calls.are_watched() && value % 256 != 0;
  machine().streams.put(stream, [=] {
    const InReach in_reach(machine().memory.device);
    if (value % 256 == 0) {
      machine().memory.device.clear(reinterpret_cast<std::uintptr_t>(pointer), bytes);
    } else {
      std::memset(pointer, value, bytes);
    }
    note_written(pointer, bytes, by_host, call);
    return false;
  });
  return result(kSuccess);
}

cudaError_t free_device(void* pointer, cudaStream_t stream) {
  if (machine().errors.sticky() != kSuccess || pointer == nullptr) return result(kSuccess);
  if (machine().memory.device.starting_at(pointer) == nullptr) return result(kErrorInvalidValue);
  machine().streams.put(stream, [=] {
    release(pointer);
    return false;
  });
  return result(kSuccess);
}

}  // namespace

extern "C" {

cudaError_t cudaMalloc(void** pointer, size_t bytes) {
  if (machine().errors.sticky() != kSuccess) return result(kSuccess);
  if (pointer == nullptr) return result(kErrorInvalidValue);
  static int count = 0;
  *pointer = nullptr;
  if (bytes == 0) return result(kSuccess);
  Label label;
  label.name = "cudaMalloc #" + std::to_string(++count);
  label.element_bytes = 0;  // not known
  *pointer = allocate(bytes, 0, label);
  return result(*pointer == nullptr ? kErrorMemoryAllocation : kSuccess);
}
cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t stream) {
  note_work(stream, "cudaMallocAsync()", __builtin_return_address(0));
  return cudaMalloc(pointer, bytes);
}
cudaError_t cudaMallocManaged(void**, size_t, unsigned) {
  return result(kErrorNotSupported);  // one address for host and device: not modelled
}
cudaError_t cudaMallocHost(void** pointer, size_t bytes) {
  *pointer = std::malloc(bytes);
  const auto begin = reinterpret_cast<std::uintptr_t>(*pointer);
  if (begin != 0) page_locked()[begin] = begin + bytes;
  return result(*pointer == nullptr ? kErrorMemoryAllocation : kSuccess);
}
cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned) {
  return cudaMallocHost(pointer, bytes);
}
cudaError_t cudaFree(void* pointer) {
  if (pointer != nullptr) note_wait("cudaFree()", __builtin_return_address(0));
  return free_device(pointer, nullptr);
}
cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream) {
  note_work(stream, "cudaFreeAsync()", __builtin_return_address(0));
  return free_device(pointer, stream);
}
cudaError_t cudaFreeHost(void* pointer) {
  page_locked().erase(reinterpret_cast<std::uintptr_t>(pointer));
  std::free(pointer);
  return result(kSuccess);
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  const Call call = {"cudaMemcpy()", __builtin_return_address(0)};
  note_copy(to, from, call.name, call.site);
  return copy(to, from, bytes, kind, nullptr, call);
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  const Call call = {"cudaMemcpyAsync()", __builtin_return_address(0)};
  note_async_copy(to, from, stream, call.name, call.site);
  return copy(to, from, bytes, kind, stream, call);
}
cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                         size_t width, size_t height, cudaMemcpyKind kind) {
  const Call call = {"cudaMemcpy2D()", __builtin_return_address(0)};
  note_copy(to, from, call.name, call.site);
  cudaError_t error = result(kSuccess);
  for (size_t row = 0; row < height && error == cudaSuccess; ++row) {
    error = copy(static_cast<char*>(to) + row * to_pitch,
                 static_cast<const char*>(from) + row * from_pitch, width, kind, nullptr, call);
  }
  return error;
}
cudaError_t cudaMemset(void* pointer, int value, size_t bytes) {
  const Call call = {"cudaMemset()", __builtin_return_address(0)};
  note_work(nullptr, call.name, call.site);
  return set(pointer, value, bytes, nullptr, call);
}
cudaError_t cudaMemsetAsync(void* pointer, int value, size_t bytes, cudaStream_t stream) {
  const Call call = {"cudaMemsetAsync()", __builtin_return_address(0)};
  note_work(stream, call.name, call.site);
  return set(pointer, value, bytes, stream, call);
}
cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  *total = limits::kMemoryBytes;
  *free = limits::kMemoryBytes - machine().memory.device.bytes_in_use();
  return result(kSuccess);
}

}  // extern "C"
