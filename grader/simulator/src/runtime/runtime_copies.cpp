// CUDA runtime functions: copies and fills. Copies happen at once, whatever their stream; if work
// is held, those within the device wait for their turn, and all others for the device.
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "runtime/page_locked.h"
#include "runtime/runtime_result.h"
#include "simulator.h"

using namespace simulator;

namespace {

bool is_device(const void* pointer) {
  return DeviceMemory::in_range(reinterpret_cast<std::uintptr_t>(pointer));
}

/// A __device__ or __constant__ variable, if it is said to be on the device.
bool is_variable(const void* pointer, std::size_t bytes) {
  return DeviceVariables::contains(reinterpret_cast<std::uintptr_t>(pointer), bytes);
}

/// False if `pointer` is said to be on the device and these bytes are neither inside one allocation
/// nor variables, or the other way round.
bool is_right_side(const void* pointer, std::size_t bytes, bool on_device) {
  if (!on_device) return pointer != nullptr && !is_device(pointer);
  return machine().memory.device.containing(reinterpret_cast<std::uintptr_t>(pointer), bytes) !=
             nullptr ||
         is_variable(pointer, bytes);
}

/// Which sides of a copy are the device's.
struct Sides {
  bool to, from;
};
Sides sides_on_device(const void* to, const void* from, cudaMemcpyKind kind) {
  if (kind == cudaMemcpyDefault) return {is_device(to), is_device(from)};
  return {kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice,
          kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice};
}

/// Where in the host code a function was called, for a finding.
struct Call {
  const char* name;
  const void* site;
  bool waits = false;  // until it is done
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

/// These bytes, as the host or as the device has them.
std::vector<char> bytes_of(const void* from, std::size_t bytes, bool on_device) {
  std::optional<DeviceValues> values;
  if (on_device) values.emplace(machine().memory.variables);
  const auto* const first = static_cast<const char*>(from);
  return {first, first + bytes};
}

/// operation(), which writes device memory or variables.
template <typename Operation>
void write_on_device(void* to, std::size_t bytes, Operation operation) {
  if (!is_variable(to, bytes)) {
    operation();
    return;
  }
  const DeviceValues values(machine().memory.variables);
  machine().memory.variables.note_write(reinterpret_cast<std::uintptr_t>(to), bytes);
  operation();
}

void move(void* to, const void* from, std::size_t bytes, Sides on_device) {
  std::vector<char> between;
  if (on_device.from && is_variable(from, bytes)) {
    between = bytes_of(from, bytes, true);
    from = between.data();
  }
  const auto move_bytes = [=] { std::memmove(to, from, bytes); };
  on_device.to ? write_on_device(to, bytes, move_bytes) : move_bytes();
}

/// To memory that is page-locked, which the host does not wait for: the bytes as they are when it
/// is the copy's turn.
Work late_copy(void* to, const void* from, std::size_t bytes) {
  return [=] {
    const InReach in_reach(machine().memory.device);
    machine().host_calls.do_late([=, seen = bytes_of(from, bytes, true)] {
      if (is_page_locked(to, bytes)) std::memcpy(to, seen.data(), bytes);
    });
    return false;
  };
}

cudaError_t copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream,
                 const Call& call) {
  if (machine().errors.sticky() != kSuccess || bytes == 0) return result(kSuccess);
  if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault) {
    return result(cudaErrorInvalidMemcpyDirection);
  }
  const Sides on_device = sides_on_device(to, from, kind);
  if (!is_right_side(to, bytes, on_device.to) || !is_right_side(from, bytes, on_device.from)) {
    return result(kErrorInvalidValue);
  }
  const bool within_device = on_device.to && on_device.from;
  if (on_device.from && !on_device.to && !call.waits && is_page_locked(to, bytes)) {
    machine().streams.put(stream, late_copy(to, from, bytes));
    return result(kSuccess);
  }
  if (!within_device) machine().streams.finish();
  const bool watched = machine().host_calls.are_watched();
  machine().streams.put(stream, [=] {
    const bool by_host = watched && (!on_device.from || is_written_by_host(from, bytes));
    const InReach in_reach(machine().memory.device);
    move(to, from, bytes, on_device);
    if (on_device.to) note_written(to, bytes, by_host, call);
    return false;
  });
  if (!within_device) machine().streams.finish();  // the host's side need not live any longer
  return result(kSuccess);
}

/// A copy that waits goes to the default stream, unless both sides are the device's; then it does
/// not. To memory that is not page-locked, CUDA makes the host wait for any.
void note_copy(Sides on_device, const void* to, std::size_t bytes, cudaStream_t stream,
               const Call& call) {
  if (call.waits && !(on_device.to && on_device.from)) {
    note_wait(call.name, call.site);
    return;
  }
  note_work(stream, call.name, call.site);
  if (on_device.from && !on_device.to && !is_page_locked(to, bytes)) {
    note_wait(std::string(call.name) + " to memory that is not page-locked (cudaMallocHost())",
              call.site);
  }
}

cudaError_t noted_copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                       cudaStream_t stream, const Call& call) {
  note_copy(sides_on_device(to, from, kind), to, bytes, stream, call);
  return copy(to, from, bytes, kind, stream, call);
}

void* within(const void* symbol, std::size_t offset) {
  return static_cast<char*>(const_cast<void*>(symbol)) + offset;
}

cudaError_t set(void* pointer, int value, size_t bytes, cudaStream_t stream, const Call& call) {
  if (machine().errors.sticky() != kSuccess || bytes == 0) return result(kSuccess);
  if (!is_right_side(pointer, bytes, true)) return result(kErrorInvalidValue);
  const bool by_host = machine().host_calls.are_watched() && value % 256 != 0;
  machine().streams.put(stream, [=] {
    const InReach in_reach(machine().memory.device);
    if (value % 256 == 0 && is_device(pointer)) {
      machine().memory.device.clear(reinterpret_cast<std::uintptr_t>(pointer), bytes);
    } else {
      write_on_device(pointer, bytes, [=] { std::memset(pointer, value, bytes); });
    }
    note_written(pointer, bytes, by_host, call);
    return false;
  });
  return result(kSuccess);
}

}  // namespace

extern "C" {

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  return noted_copy(to, from, bytes, kind, nullptr,
                    {"cudaMemcpy()", __builtin_return_address(0), true});
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return noted_copy(to, from, bytes, kind, stream,
                    {"cudaMemcpyAsync()", __builtin_return_address(0)});
}
cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                         size_t width, size_t height, cudaMemcpyKind kind) {
  const Call call = {"cudaMemcpy2D()", __builtin_return_address(0), true};
  note_copy(sides_on_device(to, from, kind), to, height * to_pitch, nullptr, call);
  cudaError_t error = result(kSuccess);
  for (size_t row = 0; row < height && error == cudaSuccess; ++row) {
    error = copy(static_cast<char*>(to) + row * to_pitch,
                 static_cast<const char*>(from) + row * from_pitch, width, kind, nullptr, call);
  }
  return error;
}
cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* from, size_t bytes, size_t offset,
                               cudaMemcpyKind kind) {
  if (!is_variable(symbol, offset + bytes)) return result(cudaErrorInvalidSymbol);
  return noted_copy(within(symbol, offset), from, bytes, kind, nullptr,
                    {"cudaMemcpyToSymbol()", __builtin_return_address(0), true});
}
cudaError_t cudaMemcpyFromSymbol(void* to, const void* symbol, size_t bytes, size_t offset,
                                 cudaMemcpyKind kind) {
  if (!is_variable(symbol, offset + bytes)) return result(cudaErrorInvalidSymbol);
  return noted_copy(to, within(symbol, offset), bytes, kind, nullptr,
                    {"cudaMemcpyFromSymbol()", __builtin_return_address(0), true});
}
cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* from, size_t bytes,
                                    size_t offset, cudaMemcpyKind kind, cudaStream_t stream) {
  if (!is_variable(symbol, offset + bytes)) return result(cudaErrorInvalidSymbol);
  return noted_copy(within(symbol, offset), from, bytes, kind, stream,
                    {"cudaMemcpyToSymbolAsync()", __builtin_return_address(0)});
}
cudaError_t cudaMemcpyFromSymbolAsync(void* to, const void* symbol, size_t bytes, size_t offset,
                                      cudaMemcpyKind kind, cudaStream_t stream) {
  if (!is_variable(symbol, offset + bytes)) return result(cudaErrorInvalidSymbol);
  return noted_copy(to, within(symbol, offset), bytes, kind, stream,
                    {"cudaMemcpyFromSymbolAsync()", __builtin_return_address(0)});
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

}  // extern "C"
