#include "driver/gpu_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "driver/bad_input.h"
#include "driver/faults.h"

namespace onepass::driver {

GpuLock::GpuLock(const std::filesystem::path& build, Device device) {
  if (device != Device::gpu) {
    return;
  }
  const std::filesystem::path path = build / "gpu.lock";
  file_ = open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644);
  if (file_ < 0) {
    throw GraderFault(cannot("write " + path.string(), errno));
  }
  if (flock(file_, LOCK_EX | LOCK_NB) == 0) {
    return;
  }
  std::fputs("Another run is grading on this GPU: waiting for its end.\n", stderr);
  if (flock(file_, LOCK_EX) != 0) {  // Ctrl-C
    throw GraderFault("Interrupted while waiting for the GPU.");
  }
}

GpuLock::~GpuLock() {
  if (file_ >= 0) {
    close(file_);
  }
}

}  // namespace onepass::driver
