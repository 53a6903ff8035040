// What the worker needs of a device. There are two: the CPU simulator (device_cpu.cpp) and a GPU
// (device_gpu.cu, stopwatch_gpu.cu). A worker program is linked with one of them.
//
// C++17 and no JSON, since nvcc compiles one side of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>

#include "wire/messages.h"
#include "worker/arguments.h"

namespace onepass::worker {

using wire::BufferSpec;
using wire::DeviceFacts;
using wire::Dtype;
using wire::Ending;
using wire::HashFill;
using wire::Outcome;

/// There is no device to work with; what() is the reason, one sentence.
struct Unavailable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The device has no room; nobody's fault but the machine's.
struct OutOfMemory : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// What the names of one call stand for.
struct ArgumentTable {
  std::map<std::string, void*> buffers;   // device pointers, null where the request says so
  std::map<std::string, double> scalars;  // integers are exact to 2^53
  void* stream = nullptr;
};

/// Calls the function. Returns "" or, if the launcher threw an exception, a sentence that says so.
/// Throws if the request lacks an argument that the binding asks for.
std::string enter(const Function& function, const ArgumentTable& table);

/// Device memory, with bytes on either side that belong to nobody.
struct Allocation {
  std::byte* first = nullptr;
  size_t guard_before = 0;
  size_t guard_after = 0;
};

/// A rectangle of bytes in device memory: rows of `width`, `pitch` bytes from start to start, which
/// are no fewer, of a single row too.
struct Area {
  std::byte* first;
  size_t width;
  size_t rows;
  size_t pitch;
};

struct Sample {
  Ending ending;
  double ms = 0;
  bool valid = true;  // false: the launch's own cost got in, or the clock was low; try again
};

/// Times one call after the other, each with a cold L2.
class Stopwatch {
 public:
  virtual ~Stopwatch() = default;
  virtual Sample time(const Function& function, const ArgumentTable& table) = 0;
};

class Device {
 public:
  virtual ~Device() = default;

  /// Finds out whether the device works. Throws Unavailable.
  virtual DeviceFacts facts() = 0;

  /// Functions that the worker itself offers on this device.
  virtual FunctionTable own_functions() const { return {nullptr, 0}; }

  /// Memory of so many bytes for that buffer, which is the first in it. Throws OutOfMemory.
  virtual Allocation allocate(const BufferSpec& spec, size_t bytes) = 0;
  virtual void release(const Allocation& allocation) noexcept = 0;

  /// These four throw if the device refuses. Host memory is dense: area.rows * area.width bytes.
  virtual void upload(const Area& area, const std::byte* from) = 0;
  virtual void download(std::byte* to, const Area& area) = 0;
  virtual void set(const Area& area, unsigned char byte) = 0;
  virtual void hash_fill(const Area& area, Dtype dtype, const HashFill& fill) = 0;

  /// From now on reading the area is no mistake of the kernel (upload and hash_fill do it too).
  virtual void mark_initialised(const Area&) {}

  /// Several buffers lie in one allocation: this one from there on.
  virtual void name_part(const BufferSpec&, std::byte* /*first*/) {}

  /// The stream that calls are to use.
  virtual void* stream() { return nullptr; }

  /// Calls the function and waits until the device is idle.
  virtual Ending call(const Function& function, const ArgumentTable& table,
                      double time_limit_s) = 0;

  /// Makes both calls one after the other, so that their work may run at the same time, the second
  /// one's on a stream of its own; then waits until the device is idle.
  virtual Ending call_both(const Function& function, const ArgumentTable& table,
                           ArgumentTable beside, double time_limit_s) = 0;

  /// From now on counts requests by line of source, and keeps the first `trace` ones of each
  /// launch for a map of accesses. False if the device cannot.
  virtual bool observe_requests(bool lines, size_t trace) { return !lines && trace == 0; }

  /// From now on, so many blocks of a launch run at most (0: all), in this order, if the device can
  /// choose.
  virtual void limit_accesses(uint64_t /*of_launch*/) {}
  virtual void choose_blocks(uint64_t /*most*/, simulator::BlockOrder, uint64_t /*seed*/) {}

  /// From now on no block of a launch runs, if the device can do without.
  virtual void run_no_blocks(bool) {}

  /// From now on each launch is refused, or none, if the device can choose.
  virtual void refuse_launches(bool /*wanted*/) {}

  /// From now on it is this one, if it can choose.
  virtual void become(const wire::OtherDevice& /*device*/) {}

  /// From now on work begins when its launcher has returned, if the device can hold it back. Not
  /// under a profiler, where a launcher returns when its work is done.
  virtual void hold_back(bool) {}

  /// What the device saw during the last call.
  virtual wire::Observations take_observations() { return {}; }

  /// Null if this device cannot measure time.
  virtual std::unique_ptr<Stopwatch> make_stopwatch() { return nullptr; }
};

/// The device that this program is linked with.
std::unique_ptr<Device> make_device();

}  // namespace onepass::worker
