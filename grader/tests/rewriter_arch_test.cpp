// The rewriter: __CUDA_ARCH__, which is a number in device functions and nowhere else.
#include <doctest/doctest.h>

#include <string>

#include "tests/rewriter_texts.h"

namespace {

constexpr const char* kAsked = "\n#ifdef __CUDA_ARCH__\nf();\n#endif\n";

std::string with_number(std::string text) {
  const std::string name = "__CUDA_ARCH__", number = "ONEPASS_DEVICE_ARCH";
  for (std::size_t at = 0; (at = text.find(name, at)) != text.npos; at += number.size()) {
    text.replace(at, name.size(), number);
  }
  return text;
}

std::string asked_in(const std::string& head) {
  return head + kAsked + "}\n";
}

void has_number(const std::string& text) {
  CHECK(rewritten(text) == with_number(text));
}

}  // namespace

TEST_SUITE("rewriter") {
  TEST_CASE("__CUDA_ARCH__ has a number in every form of a condition") {
    for (const char* condition :
         {"#if __CUDA_ARCH__ >= 900", "#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900",
          "#if defined __CUDA_ARCH__", "#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900",
          "#ifdef __CUDA_ARCH__", "#ifndef __CUDA_ARCH__", "#  ifdef\t__CUDA_ARCH__  // there",
          "#if defined(__CUDA_ARCH__) && \\\n    (__CUDA_ARCH__ >= 900)",
          "#ifdef \\\n__CUDA_ARCH__", "#if 1 /* of\n two lines */ && __CUDA_ARCH__",
          "#if N\n#elif __CUDA_ARCH__ >= 800", "#define SM __CUDA_ARCH__\n#if SM"}) {
      const std::string lines = std::string("\n") + condition + "\nf();\n#else\ng();\n#endif\n";
      has_number("__global__ void k() {" + lines + "}");
      unchanged("void k() {" + lines + "}");
    }
    has_number("__global__ void k() { if (__CUDA_ARCH__ >= 800) f(); }");
  }

  TEST_CASE("what is no name stays") {
    unchanged(
        "__global__ void k() {  // __CUDA_ARCH__\n/* __CUDA_ARCH__ */ f(\"__CUDA_ARCH__\");\n}");
    unchanged("__global__ void k() {\n#if 0\n__CUDA_ARCH__\n#endif  // __CUDA_ARCH__\n}");
    unchanged("__global__ void k() { __CUDA_ARCH__LIST; }");
  }

  TEST_CASE("functions of the device, however they are written") {
    for (const char* head :
         {"__global__ void k(float* x, int n) {",
          "__device__ __forceinline__ int f()\n{",
          "extern \"C\" __global__ void __attribute__((noinline)) k() {",
          "static inline __device__ auto f(int n = g({1, 2})) -> decltype(n) {",
          "template <typename T, int N = 2> __device__ T f(T x) {",
          "namespace a { namespace { __device__ void f() {",
          "struct S { int n; __device__ int f() const noexcept {",
          "struct S { __device__ S(int n) : a(n), b{n}, B<int>{n}, c(n) {",
          "struct S { __device__ S() noexcept(true) : a{f({1})} {",
          "struct S { __device__ S& operator=(const S& s) {",
          "struct S { __device__ bool operator==(S s) const {",
          "struct S { __device__ float operator()(float x) {",
          "template <int N> __device__ std::enable_if_t<N == 2, int> S::f() {",
          "__device__ int later(int);\n__host__ void g() {}\n__device__ void f() {",
          "__device__ float table[2] = {1, 2};\n__global__ void k() {",
          "__global__ void k() { for (;;) { if (a) {",
          "__global__ void k() { auto f = [&](int i) {",
          "__global__ void k() { struct S { void f() {",
          "void h() { each(x, [=] __device__(int i) {",
          "void h() { auto f = [] __device__ (int i) mutable -> int {",
          "#define DEVICE_INLINE __device__ inline\nDEVICE_INLINE void f() {",
          "#define DEVICE __device__\n#define ONE static DEVICE\nONE void f() {",
          "#define HD __host__ __device__\nHD int g() { return 1; }\n__device__ void f() {",
          "__device__ void f()\n#ifdef WIDE\n#define HD __host__\n#endif\n{"}) {
      CAPTURE(head);
      has_number(asked_in(head));
    }
  }

  TEST_CASE("functions that the host has, too") {
    for (const char* head :
         {"void f() {", "__host__ __device__ int f() {", "__device__ __host__ int f() {",
          "__device__ void g() {}\nvoid f() {", "__device__ float table[2];\nvoid f() {",
          "__device__ void g();\nvoid f() {", "struct S { __device__ S() : a{1} {} void f() {",
          "struct S { __device__ S() = default; void f() {",
          "void f() { auto g = [=] __host__ __device__ (int i) {",
          "void f() { each([] __device__ (int i) { return i; }, 2);",
          "#define HD __host__ __device__\nHD int f() {",
          "#define BOTH __device__ HD\n#define HD __host__\nBOTH int f() {",
          "#define ADD(T) __device__ T add(T a, T b) { return a + b; }\nADD(int)\nvoid f() {",
          "#if DEVICE && defined(__device__)\n#endif\nvoid f() {"}) {
      CAPTURE(head);
      unchanged(asked_in(head));
    }
  }

  TEST_CASE("a condition around functions holds where it holds for the device or for the host") {
    const std::string kernel = "\n__global__ void k() {}\n#endif\n";
    const auto either = [](const std::string& condition) {
      return "#if (" + with_number(condition) + ") || (" + condition + ")";
    };
    for (const std::string condition :
         {"__CUDA_ARCH__ >= 900", "!defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900",
          "defined(__CUDA_ARCH__) && (__CUDA_ARCH__ < 800)"}) {
      CHECK(rewritten("#if " + condition + kernel) == either(condition) + kernel);
      for (const std::string scope : {"namespace a {\n", "extern \"C\" {\n", "void f() {}\n",
                                      "struct alignas(16) S : B<int> {\n"}) {
        CHECK(rewritten(scope + "#if " + condition + kernel + "};") ==
              scope + either(condition) + kernel + "};");
      }
      unchanged("void f() {\n#if " + condition + "\n#endif\n}\n");
      unchanged("struct S f(struct S s) {\n#if " + condition + "\n#endif\n}\n");
    }
    CHECK(rewritten("#if __CUDA_ARCH__ >= \\\n 900  // new" + kernel) ==
          "#if (ONEPASS_DEVICE_ARCH >= 900) || (__CUDA_ARCH__ >= \\\n 900)  // new" + kernel);
    has_number("#ifdef __CUDA_ARCH__" + kernel);
    unchanged("#ifndef __CUDA_ARCH__" + kernel);
    has_number("#ifndef __CUDA_ARCH__\nvoid f();\n#else" + kernel);
    has_number("#if __CUDA_ARCH__ >= 900\nint f();\n#elif __CUDA_ARCH__ >= 800\n#else" + kernel);
    has_number("#if __CUDA_ARCH__ >= 900\n#if N\n#endif\n#else" + kernel);
  }

  TEST_CASE("a function within a macro") {
    CHECK(
        rewritten("#define ADD(T) \\\n  __device__ T add(T a) { \\\n  return a + __CUDA_ARCH__; }\n"
                  "void f() { __CUDA_ARCH__; }\n") ==
        "#define ADD(T) \\\n  __device__ T add(T a) { \\\n  return a + ONEPASS_DEVICE_ARCH; }\n"
        "void f() { __CUDA_ARCH__; }\n");
  }

  TEST_CASE("each of two functions has its own") {
    CHECK(rewritten(asked_in("__device__ void f() {") + asked_in("void g() {")) ==
          with_number(asked_in("__device__ void f() {")) + asked_in("void g() {"));
    const std::string lambda = "void h() { f([] __device__ (int i) { __CUDA_ARCH__; }, ";
    CHECK(rewritten(lambda + "__CUDA_ARCH__);\n}") == with_number(lambda) + "__CUDA_ARCH__);\n}");
  }
}
