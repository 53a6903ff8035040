// The CPU simulator as a device. Its memory has exact bounds, so there are no guard bands: a stray
// access is a finding, with the line that made it.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "simulator/device_limits.h"
#include "simulator/simulator.h"
#include "worker/call_outcome.h"
#include "worker/device.h"
#include "worker/hash_fill.h"

namespace onepass::worker {
namespace {

/// One row of hashed numbers, as bytes of the dtype.
void hash_row(std::vector<std::byte>& row, Dtype dtype, const HashFill& fill, size_t first_index) {
  const size_t element_bytes = size_of(dtype);
  for (size_t at = 0; at < row.size(); at += element_bytes) {
    const float value = hash_value(fill.seed, first_index + at / element_bytes,
                                   static_cast<float>(fill.mean), static_cast<float>(fill.scale));
    if (dtype == Dtype::fp32) {
      std::memcpy(&row[at], &value, sizeof value);
    } else {
      const uint16_t bits = dtype == Dtype::fp16 ? fp16_bits(value) : bf16_bits(value);
      std::memcpy(&row[at], &bits, sizeof bits);
    }
  }
}

constexpr int64_t kFarApart = 1 << 18;

simulator::Label label_of(const BufferSpec& spec) {
  // What lies far apart is a few elements of a vector, or of what is spoken of as one.
  const bool vector =
      spec.rows <= 1 || (spec.cols == 1 && (spec.stride == 1 || spec.stride > kFarApart));
  return {spec.name, size_of(spec.dtype), vector ? 0 : spec.cols, spec.stride};
}

class CpuDevice : public Device {
 public:
  CpuDevice() {
    cudaStreamCreate(&stream_);
    cudaStreamCreate(&stream_beside_);
  }
  ~CpuDevice() override {
    cudaStreamDestroy(stream_);
    cudaStreamDestroy(stream_beside_);
  }
  CpuDevice(const CpuDevice&) = delete;
  CpuDevice& operator=(const CpuDevice&) = delete;

  DeviceFacts facts() override {
    const simulator::DeviceFacts known = simulator::device_facts();
    DeviceFacts facts;
    facts.kind = "cpu";
    facts.name = known.name;
    facts.memory_bytes = known.memory_bytes;
    facts.multiprocessors = known.multiprocessors;
    return facts;
  }

  Allocation allocate(const BufferSpec& spec, size_t bytes) override {
    const auto offset = static_cast<size_t>(spec.offset * spec.element_bytes());
    void* const first = simulator::allocate(bytes, offset, label_of(spec));
    if (first == nullptr && bytes > 0) {
      throw OutOfMemory("the simulated device has no room for the buffer " + spec.name);
    }
    return {static_cast<std::byte*>(first)};
  }

  void release(const Allocation& allocation) noexcept override {
    if (allocation.first != nullptr) {
      simulator::release(allocation.first);
    }
  }

  void upload(const Area& area, const std::byte* from) override {
    if (area.width == area.pitch) {
      simulator::upload(area.first, from, area.width * area.rows);
      return;
    }
    for (size_t row = 0; row < area.rows; ++row) {
      simulator::upload(area.first + row * area.pitch, from + row * area.width, area.width);
    }
  }

  void download(std::byte* to, const Area& area) override {
    for (size_t row = 0; row < area.rows; ++row) {
      simulator::download(to + row * area.width, area.first + row * area.pitch, area.width);
    }
  }

  void set(const Area& area, unsigned char byte) override {
    for (size_t row = 0; row < area.rows; ++row) {
      std::memset(area.first + row * area.pitch, byte, area.width);
    }
  }

  void hash_fill(const Area& area, Dtype dtype, const HashFill& fill) override {
    std::vector<std::byte> row_bytes(area.width);
    const size_t cols = area.width / size_of(dtype);
    for (size_t row = 0; row < area.rows; ++row) {
      hash_row(row_bytes, dtype, fill, row * cols);
      simulator::upload(area.first + row * area.pitch, row_bytes.data(), area.width);
    }
  }

  void mark_initialised(const Area& area) override {
    for (size_t row = 0; row < area.rows; ++row) {
      simulator::mark_initialised(area.first + row * area.pitch, area.width);
    }
  }

  void name_part(const BufferSpec& spec, std::byte* first) override {
    simulator::name_part(first, spec.span_bytes(), label_of(spec));
  }

  void* stream() override { return stream_; }

  Ending call(const Function& function, const ArgumentTable& table, double time_limit_s) override {
    simulator::set_time_limit(time_limit_s);
    simulator::expect_stream(stream_);
    const std::string launcher_error = enter(function, table);
    simulator::expect_stream(nullptr);
    return wait_for_end(launcher_error);
  }

  Ending call_both(const Function& function, const ArgumentTable& table, ArgumentTable beside,
                   double time_limit_s) override {
    simulator::set_time_limit(time_limit_s);
    simulator::hold_work(true);
    simulator::expect_stream(stream_);
    std::string launcher_error = enter(function, table);
    simulator::expect_stream(stream_beside_);
    beside.stream = stream_beside_;
    launcher_error += enter(function, beside);
    simulator::expect_stream(nullptr);
    const Ending ending = wait_for_end(launcher_error);
    simulator::hold_work(false);
    return ending;
  }

  bool observe_requests(bool lines, size_t trace) override {
    simulator::count_requests(lines || trace > 0);
    simulator::trace_requests(trace);
    return true;
  }

  void limit_accesses(uint64_t of_launch) override { simulator::limit_accesses(of_launch); }

  void run_no_blocks(bool wanted) override { simulator::run_no_blocks(wanted); }

  void refuse_launches(bool wanted) override { simulator::refuse_launches(wanted); }

  void become(const wire::OtherDevice& device) override {
    const int number = device.multiprocessors;
    simulator::set_multiprocessors(number > 0 ? number : simulator::limits::kMultiprocessors);
    simulator::set_generation(device.capability);
  }

  void choose_blocks(uint64_t most, simulator::BlockOrder order, uint64_t seed) override {
    simulator::run_sample_of_blocks(most);
    simulator::set_block_order(order, seed);
  }

  /// Of the first call also what was launched before it, by the initialiser of a variable.
  wire::Observations take_observations() override {
    wire::Observations seen = {simulator::take_findings(), simulator::take_traffic(),
                               simulator::take_trace()};
    simulator::reset();
    return seen;
  }

 private:
  cudaStream_t stream_ = nullptr;
  cudaStream_t stream_beside_ = nullptr;
};

}  // namespace

std::unique_ptr<Device> make_device() {
  return std::make_unique<CpuDevice>();
}

}  // namespace onepass::worker
