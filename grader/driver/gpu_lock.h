// Two runs on one GPU at once would spoil each other's times, so the second waits for the first.
// (On the simulator nothing is timed, and runs share nothing but the cache, which allows it.)
#pragma once

#include <filesystem>

#include "driver/config.h"

namespace onepass::driver {

class GpuLock {
 public:
  /// Waits, and says so, while another run in this build folder uses the GPU.
  GpuLock(const std::filesystem::path& build, Device device);
  ~GpuLock();
  GpuLock(const GpuLock&) = delete;
  GpuLock& operator=(const GpuLock&) = delete;

 private:
  int file_ = -1;
};

}  // namespace onepass::driver
