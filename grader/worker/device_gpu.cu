// An NVIDIA GPU as a device: memory between guard bands, fills, calls. Timing is in
// stopwatch_gpu.cu.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "simulator/host_call_findings.h"
#include "worker/call_outcome.h"
#include "worker/device_gpu.h"
#include "worker/gate_gpu.h"
#include "worker/hash_fill.h"
#include "worker/watched_calls_gpu.h"

namespace onepass::worker {
namespace {

constexpr size_t kGuardBytes = size_t{64} << 10;
constexpr int kFillThreads = 256;

/// first[r][c] = hash_value(seed, r * cols + c), rounded to Bits' dtype by `round`.
template <typename Bits, Bits (*round)(float)>
__global__ void hash_fill_kernel(std::byte* first, size_t pitch, size_t rows, size_t cols,
                                 HashFill fill) {
  const size_t threads = size_t{gridDim.x} * blockDim.x;
  for (size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < rows * cols; i += threads) {
    Bits* const row = reinterpret_cast<Bits*>(first + i / cols * pitch);
    row[i % cols] = round(
        hash_value(fill.seed, i, static_cast<float>(fill.mean), static_cast<float>(fill.scale)));
  }
}

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

/// Why CUDA gives no device, in a sentence that says what to do.
std::string why_unavailable(cudaError_t error) {
  int driver = 0;
  cudaDriverGetVersion(&driver);
  if (error == cudaErrorInsufficientDriver && driver > 0) {
    return "the NVIDIA driver supports CUDA " + version_text(driver) +
           " and the toolkit here is CUDA " + version_text(CUDART_VERSION) +
           ": update the driver, or install an older toolkit";
  }
  if (error == cudaErrorNoDevice || error == cudaErrorInsufficientDriver) {
    return "no NVIDIA GPU is visible, or its driver is not loaded; `nvidia-smi` should list one";
  }
  if (error == cudaErrorNoKernelImageForDevice) {
    return "the grader was built for another generation of GPU: configure again with "
           "-DCMAKE_CUDA_ARCHITECTURES=native";
  }
  return "the GPU does not work (" + error_text(error) + ")";
}

void require(cudaError_t error) {
  if (error != cudaSuccess) {
    throw Unavailable(why_unavailable(error));
  }
}

int attribute(cudaDeviceAttr which) {
  int value = 0;
  if (cudaDeviceGetAttribute(&value, which, 0) != cudaSuccess) {
    cudaGetLastError();  // not known here; that is no error to keep
    return 0;
  }
  return value;
}

/// Bytes on two edges of each clock, over the whole bus; 0 if CUDA does not tell.
double peak_gbs() {
  const double clock_khz = attribute(cudaDevAttrMemoryClockRate);
  const double bus_bits = attribute(cudaDevAttrGlobalMemoryBusWidth);
  return 2 * clock_khz * 1e3 * bus_bits / 8 / 1e9;
}

class GpuDevice : public Device {
 public:
  DeviceFacts facts() override {
    int count = 0;
    require(cudaGetDeviceCount(&count));
    cudaFuncAttributes kernel;
    require(cudaFuncGetAttributes(&kernel, hash_fill_kernel<uint32_t, fp32_bits>));
    cudaDeviceProp properties;
    require(cudaGetDeviceProperties(&properties, 0));
    DeviceFacts facts;
    facts.kind = "gpu";
    facts.name = properties.name;
    facts.memory_bytes = properties.totalGlobalMem;
    facts.l2_bytes = static_cast<uint64_t>(attribute(cudaDevAttrL2CacheSize));
    facts.multiprocessors = attribute(cudaDevAttrMultiProcessorCount);
    facts.peak_gbs = peak_gbs();
    return facts;
  }

  FunctionTable own_functions() const override { return gpu_functions(); }

  Allocation allocate(const BufferSpec& spec, size_t bytes) override {
    const size_t before = kGuardBytes + static_cast<size_t>(spec.offset * spec.element_bytes());
    const size_t all = before + bytes + kGuardBytes;
    return {allocate_on_gpu(all, "the buffer " + spec.name) + before, before, kGuardBytes};
  }

  void release(const Allocation& allocation) noexcept override {
    if (allocation.first != nullptr) {
      cudaFree(allocation.first - allocation.guard_before);
    }
  }

  void upload(const Area& area, const std::byte* from) override {
    by_rows(area, [&](std::byte* at, size_t pitch, size_t done, size_t rows) {
      return cudaMemcpy2DAsync(at, pitch, from + done * area.width, area.width, area.width, rows,
                               cudaMemcpyHostToDevice, stream_);
    });
    wait("copy to the GPU");
  }

  void download(std::byte* to, const Area& area) override {
    by_rows(area, [&](std::byte* at, size_t pitch, size_t done, size_t rows) {
      return cudaMemcpy2DAsync(to + done * area.width, area.width, at, pitch, area.width, rows,
                               cudaMemcpyDeviceToHost, stream_);
    });
    wait("copy from the GPU");
  }

  void set(const Area& area, unsigned char byte) override {
    by_rows(area, [&](std::byte* at, size_t pitch, size_t, size_t rows) {
      return cudaMemset2DAsync(at, pitch, byte, area.width, rows, stream_);
    });
  }

  void hash_fill(const Area& area, Dtype dtype, const HashFill& fill) override {
    switch (dtype) {
      case Dtype::fp32:
        return launch_fill<uint32_t, fp32_bits>(area, fill);
      case Dtype::fp16:
        return launch_fill<uint16_t, fp16_bits>(area, fill);
      case Dtype::bf16:
        return launch_fill<uint16_t, bf16_bits>(area, fill);
      default:
        throw std::runtime_error("there are no hashed integers");
    }
  }

  void* stream() override {
    open_stream();
    return stream_;
  }

  Ending call(const Function& function, const ArgumentTable& table, double) override {
    wait("fill the buffers");
    if (holds_back_) gate_.close({stream_});
    return wait_for_end(enter_watched(function, table, stream_));
  }

  /// Both streams wait until all of the work is there; else the first call's might be done before
  /// the second one's begins.
  Ending call_both(const Function& function, const ArgumentTable& table, ArgumentTable beside,
                   double) override {
    wait("fill the buffers");
    if (stream_beside_ == nullptr) {
      check(cudaStreamCreate(&stream_beside_), "make a stream");
    }
    if (holds_back_) gate_.close({stream_, stream_beside_});
    beside.stream = stream_beside_;
    std::string launcher_error = enter_watched(function, table, stream_);
    launcher_error += enter_watched(function, beside, stream_beside_);
    return wait_for_end(launcher_error);
  }

  void hold_back(bool holds) override { holds_back_ = holds; }

  wire::Observations take_observations() override { return {watched_calls().take(), {}, {}}; }

  std::unique_ptr<Stopwatch> make_stopwatch() override {
    open_stream();
    return make_gpu_stopwatch(stream_);
  }

 private:
  std::string enter_watched(const Function& function, const ArgumentTable& table,
                            cudaStream_t stream) {
    watched_calls().watch(stream, [this] { gate_.open(); });
    std::string launcher_error = enter(function, table);
    watched_calls().unwatch();
    return launcher_error;
  }

  Ending wait_for_end(const std::string& launcher_error) {
    if (holds_back_ && gate_.has_expired()) {
      watched_calls().add(simulator::host_waiting(
          "That it does not return before what was put on its stream is done, for two seconds,"));
    }
    gate_.open();
    const Ending ending = worker::wait_for_end(launcher_error);
    cudaSetDevice(0);  // whatever the launcher did to it
    return ending;
  }

  /// A stream of its own, which still waits for the legacy default stream and it for this one: a
  /// launcher that forgets its stream argument is right, and is timed right.
  void open_stream() {
    if (stream_ == nullptr) {
      check(cudaSetDeviceFlags(cudaDeviceLmemResizeToMax), "keep its local memory");
      check(cudaDeviceSetLimit(cudaLimitStackSize, kLocalMemory), "get local memory");
      check(cudaStreamCreate(&stream_), "make a stream");
    }
  }

  void wait(const char* what) {
    open_stream();
    check(cudaStreamSynchronize(stream_), what);
  }

  /// operation(first byte, pitch, rows before it, rows): at once, or row by row where the distance
  /// between rows is more than CUDA's functions take.
  template <typename Operation>
  void by_rows(const Area& area, Operation operation) {
    if (area.width == 0 || area.rows == 0) {
      return;
    }
    open_stream();
    const auto most = static_cast<size_t>(attribute(cudaDevAttrMaxPitch));
    if (area.pitch <= most) {
      check(operation(area.first, area.pitch, size_t{0}, area.rows), "use a buffer");
      return;
    }
    for (size_t row = 0; row < area.rows; ++row) {
      check(operation(area.first + row * area.pitch, area.width, row, size_t{1}), "use a buffer");
    }
  }

  template <typename Bits, Bits (*round)(float)>
  void launch_fill(const Area& area, const HashFill& fill) {
    const size_t cols = area.width / sizeof(Bits);
    const size_t elements = area.rows * cols;
    if (elements == 0) {
      return;
    }
    open_stream();
    const size_t blocks = std::min<size_t>((elements - 1) / kFillThreads + 1, size_t{1} << 16);
    hash_fill_kernel<Bits, round><<<static_cast<unsigned>(blocks), kFillThreads, 0, stream_>>>(
        area.first, area.pitch, area.rows, cols, fill);
    check(cudaGetLastError(), "fill a buffer");
  }

  cudaStream_t stream_ = nullptr;
  cudaStream_t stream_beside_ = nullptr;  // of call_both()
  Gate gate_;
  bool holds_back_ = true;
};

}  // namespace

void check(cudaError_t error, const char* what) {
  if (error != cudaSuccess) {
    throw std::runtime_error(std::string("the GPU failed to ") + what + " (" + error_text(error) +
                             ")");
  }
}

std::byte* allocate_on_gpu(size_t bytes, const std::string& what) {
  void* memory = nullptr;
  const cudaError_t error = cudaMalloc(&memory, bytes);
  if (error == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    throw OutOfMemory("the GPU has no " + std::to_string(bytes >> 20) + " MiB free for " + what);
  }
  check(error, "allocate a buffer");
  return static_cast<std::byte*>(memory);
}

std::unique_ptr<Device> make_device() {
  // To load a kernel CUDA may wait for the whole device. At its first launch streams are held.
  setenv("CUDA_MODULE_LOADING", "EAGER", 1);
  cudaFree(nullptr);  // to wake up takes long; the first request tells what went wrong
  cudaGetLastError();
  return std::make_unique<GpuDevice>();
}

}  // namespace onepass::worker
