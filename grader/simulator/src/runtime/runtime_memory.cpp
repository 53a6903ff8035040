// CUDA runtime functions: allocations.
#include <cstdlib>
#include <iterator>
#include <map>
#include <string>

#include "device_limits.h"
#include "runtime/page_locked.h"
#include "runtime/runtime_result.h"
#include "simulator.h"

using namespace simulator;

namespace {

/// What cudaMallocHost() has given, by its begin, with its end.
std::map<std::uintptr_t, std::uintptr_t>& page_locked() {
  static std::map<std::uintptr_t, std::uintptr_t> all;
  return all;
}

cudaError_t take_device(void** pointer, size_t bytes, const char* call, const void* site) {
  if (machine().errors.sticky() != kSuccess) return result(kSuccess);
  if (pointer == nullptr) return result(kErrorInvalidValue);
  static int count = 0;
  *pointer = nullptr;
  if (bytes == 0) return result(kSuccess);
  Label label;
  label.name = "cudaMalloc #" + std::to_string(++count);
  label.element_bytes = 0;  // not known
  *pointer = allocate(bytes, 0, label);
  note_taken(*pointer, bytes, call, site);
  return result(*pointer == nullptr ? kErrorMemoryAllocation : kSuccess);
}

cudaError_t take_page_locked(void** pointer, size_t bytes, const char* call, const void* site) {
  *pointer = std::malloc(bytes);
  const auto begin = reinterpret_cast<std::uintptr_t>(*pointer);
  if (begin != 0) page_locked()[begin] = begin + bytes;
  note_taken(*pointer, bytes, call, site);
  return result(*pointer == nullptr ? kErrorMemoryAllocation : kSuccess);
}

cudaError_t free_device(void* pointer, cudaStream_t stream) {
  machine().host_calls.note_given_back(pointer);
  if (machine().errors.sticky() != kSuccess || pointer == nullptr) return result(kSuccess);
  if (machine().memory.device.starting_at(pointer) == nullptr) return result(kErrorInvalidValue);
  machine().streams.put(stream, [=] {
    release(pointer);
    return false;
  });
  return result(kSuccess);
}

}  // namespace

bool simulator::is_page_locked(const void* pointer, std::size_t bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  const auto after = page_locked().upper_bound(address);
  return after != page_locked().begin() && address < std::prev(after)->second &&
         bytes <= std::prev(after)->second - address;
}

extern "C" {

cudaError_t cudaMalloc(void** pointer, size_t bytes) {
  return take_device(pointer, bytes, "cudaMalloc()", __builtin_return_address(0));
}
cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t stream) {
  note_work(stream, "cudaMallocAsync()", __builtin_return_address(0));
  return take_device(pointer, bytes, "cudaMallocAsync()", __builtin_return_address(0));
}
cudaError_t cudaMallocManaged(void**, size_t, unsigned) {
  return result(kErrorNotSupported);  // one address for host and device: not modelled
}
cudaError_t cudaMallocHost(void** pointer, size_t bytes) {
  return take_page_locked(pointer, bytes, "cudaMallocHost()", __builtin_return_address(0));
}
cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned) {
  return take_page_locked(pointer, bytes, "cudaHostAlloc()", __builtin_return_address(0));
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
  machine().host_calls.note_given_back(pointer);
  page_locked().erase(reinterpret_cast<std::uintptr_t>(pointer));
  std::free(pointer);
  return result(kSuccess);
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  *total = limits::kMemoryBytes;
  *free = limits::kMemoryBytes - machine().memory.device.bytes_in_use();
  return result(kSuccess);
}

}  // extern "C"
