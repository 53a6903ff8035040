// A device made of plain memory between guard bands, as a GPU has them.
#pragma once

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "worker/device.h"
#include "worker/hash_fill.h"

namespace onepass::worker {

class PlainDevice : public Device {
 public:
  DeviceFacts facts() override {
    if (broken) {
      throw Unavailable("the device is on holiday");
    }
    DeviceFacts facts;
    facts.kind = "cpu";
    facts.name = "plain memory";
    facts.memory_bytes = room;
    return facts;
  }
  Allocation allocate(const BufferSpec& spec, size_t bytes) override {
    if (bytes > room) {
      throw OutOfMemory("no room for " + spec.name);
    }
    auto* const memory = new std::byte[2 * kGuard + bytes];
    return {memory + kGuard, kGuard, kGuard};
  }
  void release(const Allocation& allocation) noexcept override {
    if (allocation.first != nullptr) {
      delete[](allocation.first - kGuard);
    }
  }
  void upload(const Area& area, const std::byte* from) override {
    refuse_overlap(area);
    for (size_t row = 0; row < area.rows; ++row) {
      std::copy_n(from + row * area.width, area.width, area.first + row * area.pitch);
    }
  }
  void download(std::byte* to, const Area& area) override {
    refuse_overlap(area);
    for (size_t row = 0; row < area.rows; ++row) {
      std::copy_n(area.first + row * area.pitch, area.width, to + row * area.width);
    }
  }
  void set(const Area& area, unsigned char byte) override {
    refuse_overlap(area);
    for (size_t row = 0; row < area.rows; ++row) {
      std::memset(area.first + row * area.pitch, byte, area.width);
    }
  }
  void hash_fill(const Area& area, Dtype, const HashFill& fill) override {
    const size_t cols = area.width / sizeof(float);
    for (size_t i = 0; i < area.rows * cols; ++i) {
      const float value =
          hash_value(fill.seed, i, static_cast<float>(fill.mean), static_cast<float>(fill.scale));
      std::memcpy(area.first + i / cols * area.pitch + i % cols * sizeof(float), &value,
                  sizeof value);
    }
  }
  /// As cudaMemcpy2D() and its kin do, of an area of a single row, too.
  static void refuse_overlap(const Area& area) {
    if (area.rows > 0 && area.width > area.pitch) {
      throw std::runtime_error("invalid argument: the rows of an area overlap");
    }
  }
  Ending call(const Function& function, const ArgumentTable& table, double) override {
    const std::string error = enter(function, table);
    return error.empty() ? Ending{} : Ending{Outcome::launch_error, error};
  }
  Ending call_both(const Function& function, const ArgumentTable& table, ArgumentTable beside,
                   double limit) override {
    const Ending first = call(function, table, limit);
    return first.outcome == Outcome::ok ? call(function, beside, limit) : first;
  }
  std::unique_ptr<Stopwatch> make_stopwatch() override {
    struct Counter : Stopwatch {
      Sample time(const Function& function, const ArgumentTable& table) override {
        enter(function, table);
        ++calls;
        return {{}, static_cast<double>(calls), calls != 2};  // the second is to be tried again
      }
      int calls = 0;
    };
    return std::make_unique<Counter>();
  }

  bool broken = false;
  size_t room = size_t{1} << 30;

 private:
  static constexpr size_t kGuard = 64;
};

}  // namespace onepass::worker
