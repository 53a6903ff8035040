// CUDA runtime functions: copies and fills. Copies happen at once, whatever their stream; if work
// is held, those within the device wait for their turn, and all others for the device.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "findings/texts.h"
#include "host_call_findings.h"
#include "memory/held_pages.h"
#include "memory/names.h"
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

/// Rows of bytes on one side of a copy: what has no rows is one.
struct Rows {
  std::size_t width, count = 1, pitch = 0;

  bool is_empty() const { return width == 0 || count == 0; }
  /// From the first one to the last; more than there are if nobody can count them.
  std::size_t bytes() const {
    std::size_t all = 0;
    const bool is_too_much =
        __builtin_mul_overflow(count - 1, pitch, &all) || __builtin_add_overflow(all, width, &all);
    return is_too_much ? SIZE_MAX : all;
  }
  template <typename Visit>
  void each(Visit visit) const {  // visit(offset of a row)
    for (std::size_t row = 0; row < count; ++row) visit(row * pitch);
  }
  bool have_gaps() const { return !is_empty() && pitch != width; }
  /// Without gaps they are one: there may be hundreds of millions.
  Rows as_one() const { return is_empty() ? *this : Rows{bytes()}; }
};

void* within(const void* memory, std::size_t offset) {
  return static_cast<char*>(const_cast<void*>(memory)) + offset;
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

/// The answer of a call that copies nothing.
cudaError_t refused(cudaError_t error, const std::string& why, const Call& call) {
  Machine& device = machine();
  const Findings::Writing writing(device.findings);
  device.findings.add(
      with_party(refused_copy(call.name, std::string(cudaGetErrorName(error)) + ": " + why),
                 host_party(reinterpret_cast<CodeAddress>(call.site), "calls it")));
  return result(error);
}

/// What is wrong with this side of a copy, in a sentence; empty if nothing is.
std::string complaint(const std::string& side, const void* pointer, std::size_t bytes,
                      bool on_device) {
  if (is_right_side(pointer, bytes, on_device)) return "";
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  const Allocation* near = is_device(pointer) ? machine().memory.device.nearest(address) : nullptr;
  if (!on_device || near == nullptr) {
    return side + " is said to be " + (on_device ? "device" : "host") + " memory, and is not.";
  }
  const ElementName first = device_element(*near, address, 1);
  return side + ", " + std::to_string(bytes) + " bytes from " +
         (near->contains(address, 1) ? first.text : first.distance) +
         " on, is not inside one buffer.";
}

/// These bytes hold what the call has put there: numbers of the host's own, while its calls are
/// watched, or what counts as initialised.
void note_written(void* memory, const Rows& rows, bool by_host, const Call& call) {
  const bool in_moments = machine().access_limit > 0;  // of which nobody asks what is initialised
  rows.each([&](std::size_t row) {
    void* const first = within(memory, row);
    if (!in_moments) mark_initialised(first, rows.width, !by_host);
    if (!by_host) return;
    const auto begin = reinterpret_cast<std::uintptr_t>(first);
    machine().shadow.initialised.host_writes.add(
        {begin, begin + rows.width, call.name, reinterpret_cast<CodeAddress>(call.site)});
  });
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

/// Copies the rows, or fills them with `value` if `from` is nullptr.
void write(void* to, Rows to_rows, bool to_device, const void* from, std::size_t from_pitch,
           int value = 0) {
  std::optional<DeviceValues> values;
  const bool to_variable = to_device && is_variable(to, to_rows.bytes());
  if (to_variable) values.emplace(machine().memory.variables);
  const bool fills = from == nullptr && value % 256 != 0;
  const HeldPages to_pages(to, to_rows.bytes());
  const HeldPages from_pages(from, Rows{to_rows.width, to_rows.count, from_pitch}.bytes());
  std::size_t from_row = 0;
  to_rows.each([&](std::size_t to_row) {
    void* const row = within(to, to_row);
    if (to_variable) {
      machine().memory.variables.note_write(reinterpret_cast<std::uintptr_t>(row), to_rows.width);
    }
    if (fills) {
      std::memset(row, value, to_rows.width);
    } else {
      write_held(static_cast<char*>(row), to_pages,
                 from == nullptr ? nullptr : static_cast<const char*>(from) + from_row, from_pages,
                 to_rows.width);
    }
    from_row += from_pitch;
  });
}

/// What there is to copy.
struct Copy {
  void* to;
  Rows to_rows;
  const void* from;
  Rows from_rows;
  Sides on_device;
};

void move(const Copy& copy) {
  std::vector<char> between;
  const void* from = copy.from;
  if (copy.on_device.from && is_variable(from, copy.from_rows.bytes())) {
    between = bytes_of(from, copy.from_rows.bytes(), true);
    from = between.data();
  }
  write(copy.to, copy.to_rows, copy.on_device.to, from, copy.from_rows.pitch);
}

/// To memory that is page-locked, which the host does not wait for: the bytes as they are when it
/// is the copy's turn.
Work late_copy(const Copy& copy) {
  return [=] {
    const InReach in_reach(machine().memory.device);
    machine().host_calls.do_late([=, seen = bytes_of(copy.from, copy.from_rows.bytes(), true)] {
      if (!is_page_locked(copy.to, copy.to_rows.bytes())) return;
      write(copy.to, copy.to_rows, false, seen.data(), copy.from_rows.pitch);
    });
    return false;
  };
}

cudaError_t copy(const Copy& copy, cudaMemcpyKind kind, cudaStream_t stream, const Call& call) {
  if (machine().errors.sticky() != kSuccess || copy.to_rows.is_empty()) return result(kSuccess);
  if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault) {
    return refused(cudaErrorInvalidMemcpyDirection, "there is no such direction.", call);
  }
  const Sides on_device = copy.on_device;
  const std::string wrong =
      complaint("the destination", copy.to, copy.to_rows.bytes(), on_device.to) +
      complaint("the source", copy.from, copy.from_rows.bytes(), on_device.from);
  if (!wrong.empty()) return refused(cudaErrorInvalidValue, wrong, call);
  const bool within_device = on_device.to && on_device.from;
  if (on_device.from && !on_device.to && !call.waits &&
      is_page_locked(copy.to, copy.to_rows.bytes())) {
    machine().streams.put(stream, late_copy(copy));
    return result(kSuccess);
  }
  if (!within_device) machine().streams.finish();
  const bool watched = machine().host_calls.are_watched();
  machine().streams.put(stream, [=] {
    const bool by_host =
        watched && (!on_device.from || is_written_by_host(copy.from, copy.from_rows.bytes()));
    const InReach in_reach(machine().memory.device);
    move(copy);
    if (on_device.to) note_written(copy.to, copy.to_rows, by_host, call);
    return false;
  });
  if (!within_device) machine().streams.finish();  // the host's side need not live any longer
  return result(kSuccess);
}

/// A copy that waits goes to the default stream, unless both sides are the device's; then it does
/// not. To memory that is not page-locked, CUDA makes the host wait for any.
void note_copy(Sides on_device, const void* to, const Rows& rows, cudaStream_t stream,
               const Call& call) {
  if (call.waits && !(on_device.to && on_device.from)) {
    note_wait(call.name, call.site);
    return;
  }
  note_work(stream, call.name, call.site);
  if (on_device.from && !on_device.to && !rows.is_empty() && !is_page_locked(to, rows.bytes())) {
    note_wait(std::string(call.name) + " to memory that is not page-locked (cudaMallocHost())",
              call.site);
  }
}

cudaError_t noted_copy(void* to, Rows to_rows, const void* from, Rows from_rows,
                       cudaMemcpyKind kind, cudaStream_t stream, const Call& call) {
  const Sides on_device = sides_on_device(to, from, kind);
  note_copy(on_device, to, to_rows, stream, call);
  return copy({to, to_rows, from, from_rows, on_device}, kind, stream, call);
}
cudaError_t noted_copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                       cudaStream_t stream, const Call& call) {
  return noted_copy(to, {bytes}, from, {bytes}, kind, stream, call);
}
std::string too_long(std::size_t width, std::size_t pitch) {
  return "rows of " + std::to_string(width) + " bytes do not fit a pitch of " +
         std::to_string(pitch) + " bytes.";
}
cudaError_t noted_copy_of_rows(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                               size_t width, size_t height, cudaMemcpyKind kind,
                               cudaStream_t stream, const Call& call) {
  if (width > to_pitch || width > from_pitch) {
    return refused(cudaErrorInvalidPitchValue, too_long(width, std::min(to_pitch, from_pitch)),
                   call);
  }
  const Rows to_rows = {width, height, to_pitch}, from_rows = {width, height, from_pitch};
  return to_rows.have_gaps() || from_rows.have_gaps()
             ? noted_copy(to, to_rows, from, from_rows, kind, stream, call)
             : noted_copy(to, to_rows.as_one(), from, from_rows.as_one(), kind, stream, call);
}

cudaError_t noted_set(void* pointer, int value, Rows rows, cudaStream_t stream, const Call& call) {
  note_work(stream, call.name, call.site);
  if (machine().errors.sticky() != kSuccess || rows.is_empty()) return result(kSuccess);
  const std::string wrong = complaint("the destination", pointer, rows.bytes(), true);
  if (!wrong.empty()) return refused(cudaErrorInvalidValue, wrong, call);
  const bool by_host = machine().host_calls.are_watched() && value % 256 != 0;
  machine().streams.put(stream, [=] {
    const InReach in_reach(machine().memory.device);
    write(pointer, rows, true, nullptr, 0, value);
    note_written(pointer, rows, by_host, call);
    return false;
  });
  return result(kSuccess);
}
cudaError_t noted_set_of_rows(void* pointer, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream, const Call& call) {
  if (width > pitch) {
    return refused(cudaErrorInvalidPitchValue, too_long(width, pitch), call);
  }
  const Rows rows = {width, height, pitch};
  return noted_set(pointer, value, rows.have_gaps() ? rows : rows.as_one(), stream, call);
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
  return noted_copy_of_rows(to, to_pitch, from, from_pitch, width, height, kind, nullptr,
                            {"cudaMemcpy2D()", __builtin_return_address(0), true});
}
cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                              size_t width, size_t height, cudaMemcpyKind kind,
                              cudaStream_t stream) {
  return noted_copy_of_rows(to, to_pitch, from, from_pitch, width, height, kind, stream,
                            {"cudaMemcpy2DAsync()", __builtin_return_address(0)});
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
  return noted_set(pointer, value, {bytes}, nullptr, {"cudaMemset()", __builtin_return_address(0)});
}
cudaError_t cudaMemsetAsync(void* pointer, int value, size_t bytes, cudaStream_t stream) {
  return noted_set(pointer, value, {bytes}, stream,
                   {"cudaMemsetAsync()", __builtin_return_address(0)});
}
cudaError_t cudaMemset2D(void* pointer, size_t pitch, int value, size_t width, size_t height) {
  return noted_set_of_rows(pointer, pitch, value, width, height, nullptr,
                           {"cudaMemset2D()", __builtin_return_address(0)});
}
cudaError_t cudaMemset2DAsync(void* pointer, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream) {
  return noted_set_of_rows(pointer, pitch, value, width, height, stream,
                           {"cudaMemset2DAsync()", __builtin_return_address(0)});
}

}  // extern "C"
