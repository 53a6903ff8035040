// Kernels that only a GPU's compiler knows to be wrong, compiled by the nvcc that is here.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>

#include "driver/files.h"
#include "driver/report.h"
#include "process/process.h"

using namespace onepass::driver;

namespace {

constexpr const char* kLaunch = "59";  // the line of it

/// RMSNorm with a row in the registers of 1024 threads, as vLLM has it. `bounds`: what stands
/// before the kernel's name; `type`: an argument of the template, which the launcher declares.
std::string kernel(const std::string& bounds, const std::string& type) {
  return fmt::format(R"(#include <onepass/rmsnorm.h>

namespace onepass {{

constexpr int kThreads = 1024;
constexpr int kHeld = 64;  // 65,536 columns at most

struct Scale {{
  float factor;
}};

template <typename T, typename Factor>
__global__ void {} held_kernel(const T* x, int64_t x_stride, const T* weight, T* y,
                            int64_t y_stride, float* rstd, int cols, float eps, Factor scale) {{
  __shared__ float partial[32];
  const int64_t row = blockIdx.x;
  float held[kHeld];
  float sum = 0.0f;
#pragma unroll
  for (int i = 0; i < kHeld; ++i) {{
    const int col = threadIdx.x + i * kThreads;
    held[i] = col < cols ? static_cast<float>(x[row * x_stride + col]) : 0.0f;
  }}
#pragma unroll
  for (int i = 0; i < kHeld; ++i) {{
    sum += held[i] * held[i];
  }}
  for (int offset = 16; offset > 0; offset /= 2) {{
    sum += __shfl_xor_sync(0xffffffff, sum, offset);
  }}
  if (threadIdx.x % 32 == 0) {{
    partial[threadIdx.x / 32] = sum;
  }}
  __syncthreads();
  sum = partial[threadIdx.x % 32];
  for (int offset = 16; offset > 0; offset /= 2) {{
    sum += __shfl_xor_sync(0xffffffff, sum, offset);
  }}
  const float r = scale.factor * rsqrtf(sum / cols + eps);
  if (threadIdx.x == 0) {{
    rstd[row] = r;
  }}
#pragma unroll
  for (int i = 0; i < kHeld; ++i) {{
    const int col = threadIdx.x + i * kThreads;
    if (col < cols) {{
      y[row * y_stride + col] = static_cast<T>(held[i] * r * static_cast<float>(weight[col]));
    }}
  }}
}}

template <typename T>
void rmsnorm_forward(const T* x, int64_t x_stride, const T* weight, T* y, int64_t y_stride,
                     float* rstd, int rows, int cols, float eps, cudaStream_t stream) {{
  struct Local {{
    float factor;
  }};
  if (rows > 0) {{
    held_kernel<T, {}><<<rows, kThreads, 0, stream>>>(x, x_stride, weight, y, y_stride, rstd, cols,
                                                      eps, {}{{1.0f}});
  }}
}}

}}  // namespace onepass
)",
                     bounds, type, type);
}

Json graded(const std::string& source) {
  const ScratchFolder scratch(std::filesystem::temp_directory_path());
  write_file(scratch.path() / "01_rmsnorm/forward.cu", source);
  const std::filesystem::path report = scratch.path() / "report.json";
  const auto result =
      onepass::process::run({{std::string(ONEPASS_BINARY_DIR) + "/onepass", "grade", "--submission",
                              scratch.path().string(), "--device", "cpu", "--checks-only",
                              "--no-experiments", "--report", report.string(), "rmsnorm/forward"}},
                            600);
  INFO(result.output);
  REQUIRE(result.succeeded());
  const Json all = Json::parse(read_file(report));
  CHECK_FALSE(all.contains("gpu_code"));  // nvcc has done its work
  return all["exercises"][0];
}

std::string line_of(const Json& check) {
  const auto location = check["location"].get<std::string>();
  return location.substr(location.rfind(':') + 1);
}

}  // namespace

TEST_CASE("1024 threads of a kernel that takes more than 64 registers do not start") {
  const Json exercise = graded(kernel("", "Scale"));
  CHECK(exercise["status"] == "launch error");
  CHECK(exercise["score"] == 0);
  CHECK(line_of(exercise["checks"][0]) == kLaunch);
  for (const Json& one : exercise["gpu_code"]["kernels"]) {
    CHECK(one["registers"] > 64);
    REQUIRE(one["launches"].size() == 1);
    CHECK(one["launches"][0]["threads"] == 1024);
    CHECK(one["launches"][0]["blocks"] == 0);
  }
}

TEST_CASE("with __launch_bounds__ they do, and what is spilled is told") {
  const Json exercise = graded(kernel("__launch_bounds__(kThreads)", "Scale"));
  CHECK(exercise["status"] == "passed");
  int spilled = 0;
  CHECK(exercise["gpu_code"]["kernels"].size() == 3);
  for (const Json& one : exercise["gpu_code"]["kernels"]) {
    CHECK(one["registers"] <= 64);
    CHECK(one["launches"][0]["blocks"] == 1);
    spilled += one["spill_store_bytes"].get<int>();
  }
  CHECK(spilled > 0);
}

TEST_CASE("a template argument that is a function's own type: only nvcc refuses it") {
  const Json exercise = graded(kernel("__launch_bounds__(kThreads)", "Local"));
  CHECK(exercise["status"] == "compile error");
  const Json& check = exercise["checks"][0];
  CHECK(check["message"].get<std::string>().find("template argument") != std::string::npos);
  CHECK(line_of(check) == kLaunch);
}
