// Calls on another device than the simulator's usual one.
#include <fmt/format.h>

#include "simulator/device_limits.h"
#include "verdict/session/session.h"
#include "verdict/worker/worker_client.h"

namespace onepass::verdict {
namespace {

// A cluster of eight blocks has room, each of which may have a multiprocessor of its own; and it is
// no divisor or multiple of what grids are made of. With no clusters it need not be so many: rows
// that come to each block several times are fewer, then, and take less time.
constexpr int kFewMultiprocessors = 10, kFewWithoutClusters = 5;

int few_multiprocessors(int capability) {
  return simulator::limits::generation_of(capability).has_clusters ? kFewMultiprocessors
                                                                   : kFewWithoutClusters;
}

}  // namespace

std::string text_of(const wire::OtherDevice& device) {
  std::string text;
  if (device.multiprocessors > 0) {
    text += fmt::format(" of {} multiprocessors", device.multiprocessors);
  }
  if (device.capability != wire::OtherDevice().capability) {
    const auto& gpu = simulator::limits::generation_of(device.capability);
    text += fmt::format(", of compute capability {}.{}, with {} KB of shared memory a block and {}",
                        gpu.capability / 10, gpu.capability % 10, gpu.shared_of_block / 1024,
                        gpu.has_clusters ? "clusters" : "no clusters");
  }
  return text.empty() ? "" : ", on a GPU" + text;
}

Session::OnOtherDevice::OnOtherDevice(Session& session, const wire::OtherDevice& device)
    : session_(session) {
  session_.change_device(device);
}

Session::OnOtherDevice::~OnOtherDevice() {
  session_.change_device({});
}

/// A GPU stays what it is, and its worker stays too: to start another takes long.
void Session::change_device(const wire::OtherDevice& device) {
  if (settings_.device == "cpu") {
    other_device_ = device;
    worker_->change_device(device);
  }
}

Session::FewMultiprocessors::FewMultiprocessors(Session& session)
    : OnOtherDevice(session, {.multiprocessors = kFewMultiprocessors}) {}

Session::OtherGeneration::OtherGeneration(Session& session, int capability)
    : OnOtherDevice(
          session, {.multiprocessors = few_multiprocessors(capability), .capability = capability}) {
}

int Session::multiprocessors() {
  if (other_device_.multiprocessors > 0) {
    return other_device_.multiprocessors;
  }
  worker_->hello();
  return worker_->device().multiprocessors;
}

}  // namespace onepass::verdict
