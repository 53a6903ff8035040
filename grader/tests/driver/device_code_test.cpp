// What only nvcc refuses of kernels: by classes, each with a twin that it compiles. Where there is
// a CUDA toolkit nvcc is asked too.
#include "driver/object/device_code.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <vector>

#include "driver/config.h"
#include "driver/files.h"
#include "process/process.h"
#include "simulator/rewriter/rewrite.h"

using namespace onepass::driver;
namespace fs = std::filesystem;

namespace {

const std::string kBefore = R"(#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <type_traits>
#include <utility>
#include <vector>
#define BOTH __host__ __device__
inline float halved(float x) { return x / 2; }
__attribute__((noinline)) float thirded(float x) { return x / 3; }
template <typename T> T quartered(T x) { return x / 4; }
constexpr float squared(float x) { return x * x; }
constexpr BOTH int cubed(int x) { return x * x * x; }
constexpr int doubled(int n) { return n * 2; }
constexpr int kDoubled = doubled(8);
template <int n> __device__ int given() { return n; }
float values[4] = {1, 2, 3, 4};
constexpr float kValues[4] = {1, 2, 3, 4};
constexpr float kEps = 1e-5f;
struct Host { float a; Host(float x) : a(2 * x) {} float get() const { return a; } };
BOTH inline float both(float x) { return x + 1; }
__device__ float device(float x);
__device__ inline float device(float x) { return 2 * both(x); }
template <typename T> __device__ T generic(T x) { return x * 5; }
template <> __device__ int generic<int>(int x) { return x * 6; }
struct Device {
  float a = 1;
  Device() = default;
  __device__ Device(float x) : a(x) {}
  BOTH float get() const { return a; }
  __device__ friend Device operator+(Device a, Device b) { return Device(a.a + b.a); }
  template <typename T> __device__ T times(T x) const { return x * a; }
};
__device__ float counters[4];
__constant__ float table[4];
struct Plain { Device parts[2]; };
template <typename Function> __device__ float apply(Function f, float x) { return f(x); }
__device__ __attribute__((noinline)) float larger(const float& a, const float& b) { return a > b ? a : b; }
__device__ __noinline__ float fallen(float x, int n) { return n == 0 ? x : fallen(x / 2, n - 1); }
)";

/// What stands in a kernel, at line 100.
std::string kernel(const std::string& body) {
  return kBefore + "template <typename T> __global__ void k(T* y, int i) {\n#line 100\n" + body +
         "\n}\nvoid launch(float* y) { k<<<1, 32>>>(y, 3); }\n";
}

std::string refused(const std::string& text) {
  static const Toolchain toolchain =
      read_config(fs::path(ONEPASS_BINARY_DIR) / "onepass.json").toolchain(Device::cpu);
  const ScratchFolder folder(fs::temp_directory_path());
  const std::string source = folder.path() / "a.cpp";
  const std::string assembly = folder.path() / "a.s";
  const std::string object = folder.path() / "a.o";
  write_file(source, onepass::rewriter::rewrite(text, "a.cu"));
  const auto run = [&](std::vector<std::string> command) {
    command.insert(command.begin(), toolchain.compiler.string());
    const auto result = onepass::process::run({command}, 60);
    REQUIRE_MESSAGE(result.succeeded(), result.output);
  };
  std::vector<std::string> compile = toolchain.compile_flags;
  compile.insert(compile.end(), {source, "-w", "-S", "-o", assembly});
  const std::string functions = folder.path() / "functions", symbols = folder.path() / "symbols";
  for (const std::string& option : options_for_written_calls(functions, symbols)) {
    compile.push_back(option);
  }
  run(compile);
  run({"-c", assembly, "-o", object});
  const std::string bytes = read_file(object);
  const auto error = refused_device_code(
      read_object(bytes), bytes, read_file(assembly),
      read_written_calls(read_file(functions), read_file(symbols)), text, "a.cu");
  return error ? error->told("a.cu") : "";
}

/// Whatever is not known here nvcc would refuse, and the other way about.
void check_with_nvcc([[maybe_unused]] const std::string& text, [[maybe_unused]] bool takes) {
#ifdef ONEPASS_NVCC
  const ScratchFolder folder(fs::temp_directory_path());
  const std::string source = folder.path() / "a.cu";
  write_file(source, text);
  const auto result = onepass::process::run({{ONEPASS_NVCC, "-std=c++17", "-arch=sm_90", "-c", "-w",
                                              "-o", folder.path() / "a.o", source}},
                                            120);
  CHECK_MESSAGE(result.succeeded() == takes, result.output);
#endif
}

}  // namespace

TEST_SUITE("device code") {
  TEST_CASE("host functions and host variables in kernels are refused, in nvcc's words") {
    const auto call = [](const std::string& function, const std::string& body) {
      const std::string text = kernel(body);
      const std::string error = refused(text);
      CAPTURE(body);
      CHECK(
          error.find(fmt::format("a.cu:100: calling a __host__ function(\"{}\") from a __global__ "
                                 "function(\"k\") is not allowed",
                                 function)) == 0);
      check_with_nvcc(text, false);
    };
    call("halved", "y[0] = halved(y[i]);");
    call("thirded", "y[0] = thirded(y[i]);");
    call("quartered", "y[0] = quartered(y[i]);");
    call("squared", "y[0] = squared(y[i]);");
    call("Host::Host", "Host h(y[i]); y[0] = h.a;");
    // Of these nothing is left in the object.
    call("halved", "y[0] = halved(4);");
    call("halved", "const float half = halved(y[1]);");
    call("squared", "y[0] = squared(3.0f);");
    call("squared", "y[0] = 2 + squared(3.0f) * i;");
    call("std::vector::vector", "std::vector<float> v(i); y[0] = v[1];");
    call("std::max", "y[0] = std::max(y[1], y[i]);");
    call("std::array::operator[]", "std::array<float, 4> a; a[i] = 1; y[0] = a[i + 1];");
    call("rand", "y[0] = rand();");
    call("memmove", "memmove(y, y + i, 16);");
    call("memmove", "::memmove(y, y + 1, 16);");
    call("memcmp", "y[0] = memcmp(y, y + 1, 16 * i);");
    call("puts", "puts(\"x\");");
    call("putchar", "putchar('x');");
    call("atoi", "y[0] = atoi(reinterpret_cast<const char*>(y));");

    const auto variable = [](const std::string& name, const std::string& body) {
      const std::string text = kernel(body);
      const std::string error = refused(text);
      CAPTURE(body);
      CHECK(error.find("a.cu:100: identifier \"" + name + "\" is undefined in device code") == 0);
      check_with_nvcc(text, false);
    };
    variable("values", "y[0] = values[i];");
    variable("kValues", "y[0] = kValues[i];");
    variable("kEps", "y[0] = larger(kEps, y[i]);");
  }

  TEST_CASE("a variable that nobody writes is the host's all the same") {
    const std::string text =
        kBefore + "static int threads = 256;\nnamespace { float scale = 2; }\n";
    for (const char* body : {"y[0] = threads;", "y[0] = scale * y[i];"}) {
      const std::string wrong = text + kernel(body).substr(kBefore.size());
      CAPTURE(body);
      CHECK(refused(wrong).find("is undefined in device code") != std::string::npos);
      check_with_nvcc(wrong, false);
    }
    const std::string right = kBefore + R"(
      static const int threads = 256; static __device__ float scale = 2;
      __global__ void k(float* y) { y[0] = threads + scale; })";
    CHECK(refused(right) == "");
    check_with_nvcc(right, true);
  }

  TEST_CASE("the host calls no function that only the device has") {
    const auto with = [](const std::string& qualifiers, const std::string& call) {
      return kBefore + fmt::format(R"(
#define FOR_BOTH __host__ __device__
struct Pack {{ int n; __device__ int size() const {{ return n; }} __device__ __host__ int both() const {{ return n; }} }};
{} int blocks(int rows, int threads) {{
  return (rows + threads - 1) / threads;
}}
__global__ void k(float* y, int n) {{ y[blocks(n, 32)] = Pack{{n}}.size(); }}
template <typename T> void launch(T* y, int rows, Pack pack) {{
  k<<<1, 32>>>(y, {});
}}
template void launch<float>(float*, int, Pack);
)",
                                   qualifiers, call);
    };
    for (const char* qualifiers : {"__device__", "__device__ __forceinline__", "inline __device__",
                                   "static __device__", "template <int x = 1>\n__device__"}) {
      const std::string wrong = with(qualifiers, "blocks(rows, 32)");
      CAPTURE(qualifiers);
      CHECK(refused(wrong).find(
                "calling a __device__ function(\"blocks\") from a __host__ function(\"launch\") is "
                "not allowed: mark it __host__ __device__") != std::string::npos);
      check_with_nvcc(wrong, false);
    }
    CHECK(refused(with("__device__", "pack.size()")).find("function(\"Pack::size\")") !=
          std::string::npos);
    for (const char* qualifiers : {"__host__ __device__", "__device__ __host__ inline", "FOR_BOTH",
                                   "__host__\n__device__"}) {
      const std::string right = with(qualifiers, "blocks(rows, 32) + pack.both()");
      CAPTURE(qualifiers);
      CHECK(refused(right) == "");
      check_with_nvcc(right, true);
    }
  }

  TEST_CASE("a kernel is launched, not called") {
    const auto with = [](const std::string& call) {
      return kBefore +
             "template <typename T> __global__ void k(T* y) { y[0] = 1; }\n"
             "#line 100\nvoid launch(float* y) { " +
             call + " }\n";
    };
    for (const char* call : {"k(y);", "k<float>(y);", "if (y == nullptr) k(y);"}) {
      CHECK(refused(with(call)) ==
            "a.cu:100: a __global__ function call must be configured: k<<<grid, block>>>(...) "
            "launches k");
      check_with_nvcc(with(call), false);
    }
    for (const char* call :
         {"k<<<1, 1>>>(y);", "auto f = k<float>; f<<<1, 1>>>(y);",
          "auto f = [=](auto v) { k<<<1, 1>>>(v); }; f(y);",
          "void* a[] = {&y}; cudaLaunchKernel(k<float>, dim3(1), dim3(1), a, 0, nullptr);"}) {
      CHECK(refused(with(call)) == "");
      check_with_nvcc(with(call), true);
    }
  }

  TEST_CASE("what kernels do without is told by its name") {
    const auto told = [](const std::string& body, const std::string& sentence, bool nvcc_takes) {
      const std::string text = kernel(body);
      CAPTURE(body);
      CHECK(refused(text).find("a.cu:100: " + sentence) == 0);
      check_with_nvcc(text, nvcc_takes);
    };
    const std::string heap = "malloc() and new in a kernel";
    told("float* memory = new float[i]; memory[i - 1] = 1; y[12] = memory[i - 2]; delete[] memory;",
         heap, true);
    told(
        "auto* m = static_cast<float*>(malloc(4 * i)); m[i - 1] = y[0]; y[12] = m[i - 2]; free(m);",
        heap, true);
    told("if (i < 0) throw 1;", "device code does not support exception handling", false);
    told("cudaMemset(y, 0, 4);", "cudaMemset() is called in a kernel", false);
    told("cudaDeviceSynchronize();", "cudaDeviceSynchronize() is called in a kernel", false);
  }

  TEST_CASE("they are found through functions of the device") {
    const std::string text =
        kBefore +
        "#line 10\n__device__ float scaled(float x) {\n  return halved(x);\n}\n"
        "__global__ void k(float* y) { y[0] = both(scaled(y[1])); }\n";
    CHECK(refused(text).find("a.cu:11: calling a __host__ function(\"halved\") from a __device__ "
                             "function(\"scaled\")") == 0);
    check_with_nvcc(text, false);
    const std::string functor =
        kBefore +
        "#line 10\nstruct Twice { float operator()(float x) const { return 2 * x; } };\n"
        "__global__ void k(float* y) { y[0] = apply(Twice{}, y[1]); }\n";
    CHECK(refused(functor).find("function(\"Twice::operator()\")") != std::string::npos);
    check_with_nvcc(functor, false);
    const std::string lambda =
        kBefore +
        "#line 10\n__global__ void k(float* y) {\n  const auto f = [] { return 0 * halved(4); };\n"
        "  y[0] = f(); }\n";
    CHECK(refused(lambda).find("a.cu:11: calling a __host__ function(\"halved\") from a __device__ "
                               "function(\"k\")") == 0);
    check_with_nvcc(lambda, false);
  }

  TEST_CASE("what kernels may use is not refused") {
    const std::string text = kernel(R"(
      y[0] = device(y[1]) + generic(y[2]) + generic(i) + both(y[3]) + fallen(y[4], i);
      Device d; Device e(y[5]); y[1] = (d + e).times(e.get());
      Plain p = {}; Plain q = p; y[2] = q.parts[i].a;
      y[3] = counters[i] + table[i]; counters[i] = y[i];
      y[4] = apply([=](float x) { return x * y[i]; }, y[7]);
      auto square = [](auto x) { return x * x; }; y[5] = square(y[i]) + square(i);
      y[6] = std::abs(y[i]) + std::sqrt(y[i]) + std::pow(y[i], 2.0f) + std::isnan(y[i]) + std::fma(y[1], y[2], y[3]);
      float moved = std::move(y[7]); y[7] = std::forward<float>(moved) + kEps;
      y[8] = i > 0 ? kEps : 2 * kEps;
      float held[kDoubled]; held[i] = y[i]; y[8] += held[i - 1] + cubed(3) + given<kDoubled>();
      static float kept = 3; kept += y[i]; y[9] = kept;
      const float local[4] = {1, 2, 3, y[i]}; y[10] = local[i];
      for (float f : {1.0f, 2.0f}) y[11] += f;
      if (y[i] < 0) printf("%f\n", y[i]);
      if (y[i] > 9) { printf("more\n"); printf("%s\n", "more"); printf("%c", 'x'); }
      memcpy(y + 12, y, 16); memset(y, 0, 4);
      __shared__ float shared[12288]; shared[i] = 1; __syncthreads(); y[13] = shared[i - 1] + i;
    )") + R"(
      template __global__ void k<double>(double*, int);
      struct Heavy { std::vector<float> v; float a; Heavy() : a(values[0]) {} Heavy(const Heavy& o) : v(o.v), a(o.a) {} };
      __global__ void by_value(Heavy h, float* y) { y[0] = h.a; }
      void launch_heavy(float* y) { Heavy h; h.a = halved(values[1]); memmove(&h.a, values, 4); by_value<<<1, 1>>>(h, y); }
    )";
    CHECK(refused(text) == "");
    check_with_nvcc(text, true);
  }

  TEST_CASE("a function that only this file knows is found by its place, and not by a name") {
    const auto with = [](const char* kernel_body) {
      return kBefore + fmt::format(R"(
#line 10
namespace {{
__attribute__((noinline)) float fmaf(const float* x) {{ return x[0]; }}
template <typename T> __global__ void k(T* y, int i) {{ {} }}
template <typename T> void first(T* y) {{ k<<<1, 32>>>(y, 3); }}
template <typename T> void second(T* y) {{ k<<<2, 32>>>(y, 3); }}
}}  // namespace
void launch(float* y) {{ (fmaf(y) > 1 ? first<float> : second<float>)(y); }}
)",
                                   kernel_body);
    };
    // 0.5 is a constant in memory, whose symbol is of no function; the C library has an fmaf too.
    const std::string right = with("y[i] = ::fmaf(y[1], y[2], y[i] > 0 ? 0.5f : 7.5f);");
    CHECK(refused(right) == "");
    check_with_nvcc(right, true);
    const std::string wrong = with("y[i] = fmaf(y) + 0.5f;");
    CHECK(refused(wrong).find("a.cu:12: calling a __host__ function(\"fmaf\")") == 0);
    check_with_nvcc(wrong, false);
  }

  TEST_CASE("code that tells host from device is left to nvcc") {
    const std::string text = kBefore + R"(
      BOTH inline float either(float x) {
      #ifdef __CUDA_ARCH__
        return __expf(x);
      #else
        return halved(x);
      #endif
      }
      __global__ void k(float* y) { y[0] = either(y[1]); }
    )";
    CHECK(refused(text) == "");
    check_with_nvcc(text, true);
  }

  TEST_CASE("a header that the exercise gives has functions of the host, and of the device") {
    const auto with = [](const std::string& body) {
      return kBefore + R"(
#line 1 "/w/grader/include/onepass/fast.h"
__attribute__((noinline)) int attribute(int which) { return which + 1; }
inline int halves(int n) { return n / 2; }
constexpr int sixteenths(int n) { return n / 16; }
template <typename T> __device__ T both_of(T a) { return both(a); }
struct Rows { const float* first; __device__ float at(int i) const { return first[i]; } };
#line 100 "a.cu"
__global__ void k(float* y, int i) { )" +
             body + " }\n";
    };
    for (const std::string name : {"attribute", "halves", "sixteenths"}) {
      const std::string text = with("y[0] = " + name + "(i);");
      CHECK(refused(text) == "a.cu:100: calling a __host__ function(\"" + name +
                                 "\") from a __global__ function(\"k\") is not allowed: it has no "
                                 "version for the device");
      check_with_nvcc(text, false);
    }
    CHECK(refused(with("y[0] = sixteenths(64);")) != "");
    const std::string right = with("y[0] = both_of(Rows{y}.at(i));") +
                              "int host() { return attribute(halves(sixteenths(64))); }\n";
    CHECK(refused(right) == "");
    check_with_nvcc(right, true);
  }

  TEST_CASE("static shared memory has 48 KB in all") {
    const auto with = [](int values_in_second) {
      return kBefore + fmt::format(R"(
#line 10
__device__ inline float second(float x, int i) {{
  __shared__ float tile[{}];
  tile[i] = x;
  return tile[i + 1];
}}
__global__ void k(float* y, int i) {{
  __shared__ float tile[8192];
  tile[i] = y[i];
  y[0] = tile[i + 1] + second(y[1], i);
}}
)",
                                   values_in_second);
    };
    CHECK(refused(with(4097)) ==
          "a.cu:15: entry function k uses too much shared data (49156 bytes, 49152 max): more only "
          "as dynamic shared memory (extern __shared__)");
    check_with_nvcc(with(4097), false);
    CHECK(refused(with(4096)) == "");
    check_with_nvcc(with(4096), true);
  }
}
