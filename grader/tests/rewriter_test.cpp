// The rewriter: every form of a launch, and all that only looks like one.
#include "simulator/rewriter/rewrite.h"

#include "simulator/rewriter/access_alignments.h"

#include <doctest/doctest.h>

#include <string>

#include "tests/rewriter_texts.h"

TEST_SUITE("rewriter") {
  TEST_CASE("a launch becomes a call that holds the kernel's name") {
    CHECK(rewritten("k<<<g, b>>>(x, n);") == "ONEPASS_LAUNCH(k)(g, b)(x, n);");
    CHECK(rewritten("k<<<g, b, 0, s>>>();") == "ONEPASS_LAUNCH(k)(g, b, 0, s)();");
    CHECK(rewritten("k <<< g, b >>> (x);") == "ONEPASS_LAUNCH(k )( g, b ) (x);");
    CHECK(rewritten("if (n) k<<<1, 32>>>(x); else k<<<2, 32>>>(x);") ==
          "if (n) ONEPASS_LAUNCH(k)(1, 32)(x); else ONEPASS_LAUNCH(k)(2, 32)(x);");
  }

  TEST_CASE("kernels named in every way") {
    CHECK(rewritten("k<T><<<1, 2>>>(x);") == "ONEPASS_LAUNCH(k<T>)(1, 2)(x);");
    CHECK(rewritten("k<(3>2),4><<<1, 2>>>(x);") == "ONEPASS_LAUNCH(k<(3>2),4>)(1, 2)(x);");
    CHECK(rewritten("k<A<B<int>>><<<1, 2>>>(x);") == "ONEPASS_LAUNCH(k<A<B<int>>>)(1, 2)(x);");
    CHECK(rewritten("k<N < 3><<<1, 2>>>(x);") == "ONEPASS_LAUNCH(k<N < 3>)(1, 2)(x);");
    CHECK(rewritten("k<sizeof(int[4])><<<1, 2>>>(x);") ==
          "ONEPASS_LAUNCH(k<sizeof(int[4])>)(1, 2)(x);");
    CHECK(rewritten("a::b::k<<<1, 2>>>(x);") == "ONEPASS_LAUNCH(a::b::k)(1, 2)(x);");
    CHECK(rewritten("else ::k<<<1, 2>>>(x);") == "else ONEPASS_LAUNCH(::k)(1, 2)(x);");
    CHECK(rewritten("a<T>::template k<4><<<1, 2>>>(x);") ==
          "ONEPASS_LAUNCH(a<T>::template k<4>)(1, 2)(x);");
    CHECK(rewritten("(fast ? k1 : k2)<<<1, 2>>>(x);") ==
          "ONEPASS_LAUNCH((fast ? k1 : k2))(1, 2)(x);");
    CHECK(rewritten("if (n) (*pointer)<<<1, 2>>>(x);") ==
          "if (n) ONEPASS_LAUNCH((*pointer))(1, 2)(x);");
    CHECK(rewritten("table[i]<<<1, 2>>>(x);") == "ONEPASS_LAUNCH(table[i])(1, 2)(x);");
    CHECK(rewritten("pick<T>(n)<<<1, 2>>>(x);") == "ONEPASS_LAUNCH(pick<T>(n))(1, 2)(x);");
    CHECK(rewritten("this->k<<<1, 2>>>(x);") == "ONEPASS_LAUNCH(this->k)(1, 2)(x);");
    CHECK(rewritten("s.k<<<1, 2>>>(x);") == "ONEPASS_LAUNCH(s.k)(1, 2)(x);");
    CHECK(rewritten("return k<<<1, 2>>>(x);") == "return ONEPASS_LAUNCH(k)(1, 2)(x);");
  }

  TEST_CASE("shapes with calls, braces, templates and shifts") {
    CHECK(rewritten("k<<<dim3(a, b), {1, 2}, n * sizeof(A<B<C<int>>>), 0>>>(x);") ==
          "ONEPASS_LAUNCH(k)(dim3(a, b), {1, 2}, n * sizeof(A<B<C<int>>>), 0)(x);");
    CHECK(rewritten("k<<<1 << n, m >> 2>>>(x);") == "ONEPASS_LAUNCH(k)(1 << n, m >> 2)(x);");
    CHECK(rewritten("k<<<1, f<int>>>>(x);") == "ONEPASS_LAUNCH(k)(1, f<int>)(x);");
  }

  TEST_CASE("launches over several lines keep them") {
    CHECK(rewritten("k<T,\n  4>\n<<<\n  g,  // the grid\n  b\n>>>(\n  x,\n  n);\n") ==
          "ONEPASS_LAUNCH(k<T,\n  4>\n)(\n  g,  // the grid\n  b\n)(\n  x,\n  n);\n");
  }

  TEST_CASE("launches in macros") {
    CHECK(rewritten("#define GO(k) \\\n  k<T> \\\n  <<<1, 2>>>(x)\nGO(f);\n") ==
          "#define GO(k) \\\n  ONEPASS_LAUNCH(k<T> \\\n  )(1, 2)(x)\nGO(f);\n");
    CHECK(rewritten("#define GO(k, ...) k<<<__VA_ARGS__>>>\n") ==
          "#define GO(k, ...) ONEPASS_LAUNCH(k)(__VA_ARGS__)\n");
    CHECK(rewritten("CHECK(k<<<1, 2>>>(x));") == "CHECK(ONEPASS_LAUNCH(k)(1, 2)(x));");
  }

  TEST_CASE("directives in the middle of a launch") {
    CHECK(rewritten("k<<<1,\n#if N > (3\n2>>>(\n#endif\nx);") ==
          "ONEPASS_LAUNCH(k)(1,\n#if N > (3\n2)(\n#endif\nx);");
  }

  TEST_CASE("what only looks like a launch stays") {
    unchanged("// k<<<1, 2>>>(x); don't\n");
    unchanged("/* k<<<1,\n 2>>>(x); */\n");
    unchanged("// continued \\\n k<<<1, 2>>>(x);\n");
    unchanged("f(\"k<<<1, 2>>>(x)\");");
    unchanged("f(\"quoted \\\" k<<<1, 2>>>(x)\", '\"', '<');");
    unchanged("f(R\"(k<<<1, 2>>>(x) \" )\");\nf(u8R\"ab()\"k<<<1>>>)ab\");");
    unchanged("#error k<<<1 isn't one\n#include <it's<<<.h>\n");
    unchanged("#if 0\nk<<<1, don't\n#if 1\n#else\nk<<<\n#endif\n#endif\n");
    unchanged("stream.operator<<<int>(3);");
    unchanged("a<b<c<int>>> x; y = 1 << 2 >> 3;");
  }

  TEST_CASE("literals do not end where they only seem to") {
    CHECK(rewritten("n = 1'000'000; k<<<1'024, 2>>>('\\'', x);") ==
          "n = 1'000'000; ONEPASS_LAUNCH(k)(1'024, 2)('\\'', x);");
    CHECK(rewritten("n = 0x1'fp+3; k<<<1, 2>>>(u8'\"', L\"\\\\\", x);") ==
          "n = 0x1'fp+3; ONEPASS_LAUNCH(k)(1, 2)(u8'\"', L\"\\\\\", x);");
    CHECK(rewritten("#if 1\nk<<<1, 2>>>(x);\n#endif\n") ==
          "#if 1\nONEPASS_LAUNCH(k)(1, 2)(x);\n#endif\n");
  }

  TEST_CASE("NULL among the arguments stays a pointer") {
    CHECK(rewritten("k<<<1, 2>>>(NULL, x, NULL);") ==
          "ONEPASS_LAUNCH(k)(1, 2)(nullptr, x, nullptr);");
    CHECK(rewritten("k<<<1, 2>>>(f(NULL), NULL == x);") ==
          "ONEPASS_LAUNCH(k)(1, 2)(f(NULL), NULL == x);");
  }

  TEST_CASE("dynamic shared memory in a kernel becomes a pointer") {
    CHECK(rewritten("void k() { extern __shared__ float s[]; }") ==
          "void k() { [[maybe_unused]] float *const s = ONEPASS_DYNAMIC_SHARED   ; }");
    CHECK(contains(rewritten("void k() { extern __shared__ __align__(16) unsigned char s[]; }"),
                   "[[maybe_unused]] unsigned char *const s = ONEPASS_DYNAMIC_SHARED"));
    CHECK(contains(rewritten("void k() { extern __shared__ float t[][33]; }"),
                   "float (*const t)[33] = ONEPASS_DYNAMIC_SHARED"));
    CHECK(contains(rewritten("void k() {\n extern\n __shared__ alignas(16)\n volatile T\n s[];\n}"),
                   "volatile T *const s = ONEPASS_DYNAMIC_SHARED"));
    CHECK(contains(rewritten("#define S(T) extern __shared__ T s[];\n"),
                   "T *const s = ONEPASS_DYNAMIC_SHARED"));
  }

  TEST_CASE("dynamic shared memory outside of functions moves into those that use it") {
    const std::string text = rewritten(
        "namespace a::b {\nextern __shared__ float4 s[];\n"
        "__global__ void uses(float* x) {\n  s[0].x = *x;\n}\n"
        "__global__ void other() {\n}\n"
        "void host() { int s = 0; }\n}\n");
    CHECK(contains(text,
                   "uses(float* x) { [[maybe_unused]] float4 *const s = "
                   "ONEPASS_DYNAMIC_SHARED;\n"));
    CHECK(contains(text, "other() {\n}"));
    CHECK(contains(text, "host() { int s = 0; }"));
    CHECK(!contains(text, "extern"));
  }

  TEST_CASE("attributes of shared memory stand before it") {
    CHECK(rewritten("__shared__ alignas(16) float a[4];") == " alignas(16) __shared__ float a[4];");
    CHECK(rewritten("__shared__ [[maybe_unused]]\nalignas(T) T a;") ==
          " [[maybe_unused]]\nalignas(T) __shared__ T a;");
    CHECK(contains(rewritten("#define TILE __shared__ alignas(16) float\nint alignas(8) x;"),
                   "alignas(16) __shared__ float\nint alignas(8) x;"));
    unchanged("__shared__ __align__(16) float a[4]; alignas(16) __shared__ float b;");
  }

  TEST_CASE("an initialiser of shared memory is marked") {
    CHECK(rewritten("__shared__ float a[4] = {0}, b;") ==
          "__shared__ float a[4]  ONEPASS_SHARED_INITIALIZER = {0}, b;");
    CHECK(rewritten("__shared__ float a, b{1};") ==
          "__shared__ float a, b ONEPASS_SHARED_INITIALIZER {1};");
    unchanged("__shared__ struct S { int a = 1; } s; x = 3;");
    unchanged("__shared__ union { int a; float b; } s; x = 3;");
    unchanged(
        "__shared__ float a[N == 2 ? 1 : 2]; __shared__ A<N >= 2> b; __shared__ A<(N == 1)> c;");
    unchanged("__shared__ float a[4]\nconst int x = 3;");  // the compiler tells that
    unchanged("#define SHARED __shared__\nfloat x = 1;\n#define AND(a) __shared__ a\nint y{1};");
  }

  TEST_CASE("launch bounds are compared in the kernel") {
    CHECK(rewritten("__global__ void __launch_bounds__(N * f(2, 3), 2) k(int a) { a(); }") ==
          "__global__ void __launch_bounds__(N * f(2, 3), 2) k(int a) { "
          "ONEPASS_LAUNCH_BOUNDS(N * f(2, 3), 2); a(); }");
    CHECK(contains(rewritten("__global__ void __launch_bounds__(N == 32 ? 2 : N>>1) k() {}"),
                   "{ ONEPASS_LAUNCH_BOUNDS(N == 32 ? 2 : N>>1);}"));
    CHECK(rewritten("KERNEL(__launch_bounds__(256), k)(int a) {}") ==
          "KERNEL(__launch_bounds__(256), k)(int a) { ONEPASS_LAUNCH_BOUNDS(256);}");
    unchanged("__global__ void __launch_bounds__(256) k(int a);\nvoid f() {}");
    const std::string declared = "template <int N> __global__ void __launch_bounds__(N) k(int* a);";
    CHECK(rewritten(declared + "template <int N> __global__ void k(int* b) {}") ==
          declared + "template <int N> __global__ void k(int* b) { ONEPASS_LAUNCH_BOUNDS(N);}");
    CHECK(contains(rewritten(declared + "template <int N> __global__ void __launch_bounds__(8) "
                                        "k(int* a) {}"),
                   "{ ONEPASS_LAUNCH_BOUNDS(8);}"));
    for (const char* another :
         {"template <int M> __global__ void k(int* a) {}", "__global__ void k(int* a) {}",
          "template <int N> __global__ void k(int a) {}", "template <int N> void k(int* a) {}",
          "template <int N> __global__ void f(int* a) {}",
          "template <int N> __global__ void k(int* a);"}) {
      unchanged(declared + another);
    }
    const std::string other = "template <int N> __global__ void k(int* a) {}";
    CHECK(contains(rewritten(declared + other + "namespace n {" + other + "}"),
                   "(N);}namespace n {" + other));
    unchanged("__global__ void k(int a) {}\n__global__ void __launch_bounds__(256) k(int a);");
  }

  TEST_CASE("launch bounds in a macro are compared in the kernel") {
    const std::string bounds = "#define BOUNDS __launch_bounds__(256)\n";
    CHECK(contains(rewritten_longer(bounds + "void BOUNDS k() {}"),
                   "k() { ONEPASS_LAUNCH_BOUNDS_OF_BOUNDS;}"));
    CHECK(contains(rewritten_longer("\n" + bounds), "\n#line 2\n" + bounds));
    CHECK(contains(rewritten_longer("#define \\\n" + bounds.substr(8)), "\n#line 1\n#define \\"));
    // What they say is what the preprocessor takes.
    const std::string two =
        rewritten_longer("#if A\n" + bounds + "#else\n#define BOUNDS\n#endif\n");
    CHECK(contains(two, "#define ONEPASS_LAUNCH_BOUNDS_OF_BOUNDS ONEPASS_LAUNCH_BOUNDS(256)\n"));
    CHECK(contains(two, "#define ONEPASS_LAUNCH_BOUNDS_OF_BOUNDS \n#line 4\n#define BOUNDS\n"));
    // A macro of a macro, whose parameter it is
    const std::string kernel = rewritten_longer(
        "#define KERNEL(n) void INNER(n)\n#define INNER(m) __launch_bounds__(m)\nKERNEL(2) k() {}");
    CHECK(contains(kernel, "_OF_KERNEL(n) ONEPASS_LAUNCH_BOUNDS_OF_INNER(n)\n"));
    CHECK(contains(kernel, "_OF_INNER(m) ONEPASS_LAUNCH_BOUNDS(m)\n"));
    CHECK(contains(kernel, "k() { ONEPASS_LAUNCH_BOUNDS_OF_KERNEL(2);}"));
    // Macros which hold the kernel, too
    CHECK(rewritten("#define K(n) void __launch_bounds__(n) k() {}\nK(2) void f() {}") ==
          "#define K(n) void __launch_bounds__(n) k() { ONEPASS_LAUNCH_BOUNDS(n);}\n"
          "K(2) void f() {}");
    unchanged("#define DECLARE(n) void __launch_bounds__(n) k();\nDECLARE(2) void f() {}");
    unchanged(
        "#define __launch_bounds__(...)\n#if defined(__launch_bounds__)\n#endif\nvoid f() {}");
    unchanged("#define BOUNDS 256\n__global__ void k() { int a[BOUNDS]; }");
  }

  TEST_CASE("launch functions get the kernel itself") {
    CHECK(contains(rewritten("cudaLaunchKernel((void*)k<T>, g, b, a);"), "(k<T>, g"));
    CHECK(contains(rewritten("cudaLaunchKernel((void const *)k<T>, g, b, a);"), "  k<T>, g"));
    CHECK(contains(rewritten("cudaLaunchKernel(reinterpret_cast<const void*>(&k<T>), g, b, a);"),
                   " (&k<T>), g"));
    CHECK(contains(rewritten("cudaLaunchKernelExC(&config, (const void*)k, a);"), " k, a);"));
    unchanged("cudaLaunchKernel(k<T>, g, b, (void**)a); f((void*)k);");
  }

  TEST_CASE("static shared memory and other externs stay") {
    unchanged("__global__ void k() { __shared__ float s[32]; }");
    unchanged("extern int counter; extern \"C\" { void f(); }");
  }

  TEST_CASE("indices into arrays of structures are looked at, in device functions") {
    const auto body = [](const std::string& text) {
      const std::string begin = "struct Share { Pack<T, V> dy[3], x[3]; };\n__global__ void f() {";
      const std::string result = rewritten(begin + text + "}");
      REQUIRE(result.substr(0, begin.size()) == begin);
      return result.substr(begin.size(), result.size() - begin.size() - 1);
    };
    CHECK(body("dy[p] = load(x, p);") == "dy[::simulator::checked_index(dy, p)] = load(x, p);");
    CHECK(body("a = share.dy[q[p] + 1];") ==
          "a = share.dy[::simulator::checked_index(share.dy, q[p] + 1)];");
    CHECK(body("if (a) dy[p] = b;") == "if (a) dy[::simulator::checked_index(dy, p)] = b;");
    CHECK(body("g(a, dy[p]);") == "g(a, dy[::simulator::checked_index(dy, p)]);");
    CHECK(body("a = x[p].sum();") == "a = x[::simulator::checked_index(x, p)].sum();");
    CHECK(body("half z[2][4]; z[p][q] = w;") ==
          "half z[2][4]; z[::simulator::checked_index(z, p)]"
          "[::simulator::checked_index(z[p], q)] = w;");
    CHECK(body("half z[2][4]; z[p << n::m][q] = w;") ==
          "half z[2][4]; z[::simulator::checked_index(z, p << n::m)]"
          "[::simulator::checked_index(z[p << n::m], q)] = w;");
    CHECK(body("half z[2][4]; z[p++][q] = w;") ==
          "half z[2][4]; z[::simulator::checked_index(z, p++)][q] = w;");
    CHECK(body("float4 z[2]; z[dy[0]] = w;") ==
          "float4 z[2]; z[::simulator::checked_index(z, dy[::simulator::checked_index(dy, "
          "0)])] = w;");
    for (const char* same :
         {"Pack<T, V> dy[4] = {};", "Pack a, dy[4];", "Pack *dy[4], &dy[1];", "end = &dy[4];",
          "struct { T a; } dy[4];", "struct { T a; } dy[4] = {};", "y[p] = 1;", "p->dy[p] = a;",
          "float sum[4]; sum[p] = a;", "Pack __align__(16) dy[4];", "q().dy[p] = a;",
          "a = x[p].x;"}) {
      CHECK(body(same) == same);
    }
    unchanged("Pack dy[4];\nvoid on_host() { dy[3] = a; }");
    unchanged("Pack dy[4];\n#define FIRST dy[3] = a\n__device__ void f() { FIRST; }");
  }

  TEST_CASE("a malformed launch is told in one sentence with its line") {
    CHECK(contains(error_of("\n\nk<<<1, 2(x);\n", 3), "without its >>>"));
    CHECK(contains(error_of("k<<<1, 2);\n}", 1), "without its >>>"));
    CHECK(contains(error_of("k<<<1,\nl<<<1, 2>>>(x);", 1), "without its >>>"));
    CHECK(contains(error_of("k<<<1, 2>>>;", 1), "arguments in parentheses"));
    CHECK(contains(error_of("k<<<1, 2>>>(x;", 1), "never closed"));
    CHECK(contains(error_of("k<<<1>>>(x);", 1), "this one has 1"));
    CHECK(contains(error_of("k<<<>>>(x);", 1), "this one has 0"));
    CHECK(contains(error_of("k<<<1, 2, 3, 4, 5>>>(x);", 1), "this one has 5"));
    CHECK(contains(error_of("<<<1, 2>>>(x);", 1), "kernel's name"));
    CHECK(contains(error_of("x = 3; T><<<1, 2>>>(x);", 1), "kernel's name"));
    CHECK(contains(error_of("k<<<1, 2>>>({1, 2});", 1), "float4{...}"));
    CHECK(contains(error_of("\n/* open", 2), "comment has no end"));
    CHECK(contains(error_of("f(R\"x(abc)\");", 1), "raw string has no end"));
    CHECK(contains(error_of("void k() { extern __shared__ float s[4]; }", 1), "without a size"));
  }

  TEST_CASE("the shown path is quoted") {
    CHECK(onepass::rewriter::rewrite("", "a \"b\\c.cu") ==
          "#include <cuda_runtime.h>\n#line 1 \"a \\\"b\\\\c.cu\"\n");
  }

  TEST_CASE("any cut of a source is rewritten or refused, and never hangs") {
    const std::string source =
        "#define A(k) k<<<1, \\\n2>>>(3)\nnamespace n { extern __shared__ int s[]; template <int N>"
        " __global__ void k(int* x) { s[0] = R\"(a)\"[0] + 'x'; asm(\"\"); } void f() {"
        " n::k<(3>2)><<<dim3{1}, 2>>>(x); /* c */ } }\n#if 0\n'\n#endif\n";
    for (std::size_t begin = 0; begin < source.size(); ++begin) {
      for (std::size_t size = 0; size <= source.size() - begin; size += 3) {
        try {
          onepass::rewriter::rewrite(source.substr(begin, size), "x");
        } catch (const onepass::rewriter::RewriteError&) {
        }
      }
    }
  }
}

TEST_CASE("alignments: of neighbours, that of all of them") {
  const auto dump = [](const char* alignment, const char* offset, const char* between) {
    return std::string(R"(
;; Function k (_Z1kv, funcdef_no=7, decl_uid=1)
;; Full RTL generated for this function:
(call_insn 18 17 19 2 (call (mem:QI (symbol_ref:DI ("__tsan_write4")) [0 S1 A8])
(insn 19 18 20 2 (set (mem:SF (reg/f:DI 85 [ _4 ]) [2 MEM[(struct Both *)_4].first+0 S4 )") +
           alignment + "])\n" + between +
           R"((call_insn 22 21 23 2 (call (mem:QI (symbol_ref:DI ("__tsan_write4")) [0 S1 A8])
(insn 23 22 0 2 (set (mem:SF (plus:DI (reg/f:DI 85 [ _4 ])
                (const_int )" +
           offset + R"()) [2 MEM[(struct Both *)_4].second+4 S4 A32])
        (reg:SF 84)) "b.cpp":3:63 -1
)";
  };
  const auto calls = [](const char* first) {
    return std::string("_Z1kv:\n\tcall\t__tsan_write4") + first +
           "@PLT\t# 18\t[c=0 l=5]  *call\n\tcall\t__tsan_write4@PLT\t# 22\t[c=0 l=5]  *call\n";
  };
  using onepass::rewriter::with_alignments;
  CHECK(with_alignments(calls(""), dump("A64", "4 [0x4]", "")) == calls("_aligned_8"));
  CHECK(with_alignments(calls(""), dump("A256", "4 [0x4]", "")) == calls("_aligned_8"));
  for (const std::string& apart :
       {dump("A32", "4 [0x4]", ""), dump("A64", "8 [0x8]", ""),
        dump("A64", "4 [0x4]", "(jump_insn 20 19 21 2 (set (pc)\n"),
        dump("A64", "4 [0x4]", "(call_insn 20 19 21 2 (call (mem:QI (symbol_ref:DI (\"f\"))\n")}) {
    CHECK(with_alignments(calls(""), apart) == calls(""));
  }
}

TEST_CASE("alignments: from the dump of a function into the names that it calls") {
  const std::string dump = R"(
;; Function k (_Z1kv, funcdef_no=7, decl_uid=1)
;; Full RTL generated for this function:
(call_insn 38 37 39 7 (call (mem:QI (symbol_ref:DI ("__tsan_write_range")) [0 S1 A8])
(call_insn 40 39 41 7 (call (mem:QI (symbol_ref:DI ("__tsan_read_range")) [0 S1 A8])
(insn 41 40 42 7 (set (reg:TI 94)
        (mem:TI (reg/f:DI 87) [6 *_8+0 S16 A16])) "a.cu":11:1 -1
(insn 48 41 42 7 (set (mem/c:SF (plus:DI (reg/f:DI 77 virtual-stack-vars) (const_int -4)) [1 s+0 S4 A32])
        (reg:SF 93)) "a.cu":11:1 -1
(insn 42 48 43 7 (set (mem:TI (reg/f:DI 88) [6 MEM[(struct Sums &)&of].s[_7]+0 S16 A256])
        (reg:TI 94)) "a.cu":11:1 -1
(call_insn 50 49 51 7 (call (mem:QI (symbol_ref:DI ("__tsan_read16")) [0 S1 A8])
(jump_insn 51 50 52 7 (set (pc) (label_ref 60))
(insn 61 60 62 8 (set (reg:TI 95) (mem:TI (reg/f:DI 87) [6 *_8+0 S16 A64]))
(call_insn 70 69 71 8 (call (mem:QI (symbol_ref:DI ("__tsan_write16")) [0 S1 A8])
(insn 71 70 72 8 (set (mem:SF (reg/f:DI 99) [1 *_3+0 S4 A32]) (reg:SF 93)) "a.cu":12:1 -1
)";
  const auto calls = [](const char* function, const char* read, const char* write) {
    return std::string(function) + ":\n\tcall\t__tsan_write_range" + write +
           "@PLT\t# 38\t[c=0 l=5]  *call\n\tcall\t__tsan_read_range" + read +
           "@PLT\t# 40\t[c=0 l=5]  *call\n"
           // A jump lies between this one and the access; and the last is not of interest.
           "\tcall\t__tsan_read16@PLT\t# 50\t[c=0 l=5]  *call\n"
           // Of 16 bytes g++ knows more than of what comes next.
           "\tcall\t__tsan_write16@PLT\t# 70\t[c=0 l=5]  *call\n"
           "\tcall\t__tsan_read4@PLT\t# 90\t[c=0 l=5]  *call\n";
  };
  using onepass::rewriter::with_alignments;
  CHECK(with_alignments(calls("_Z1kv", "", ""), dump) ==
        calls("_Z1kv", "_aligned_2", "_aligned_32"));
  CHECK(with_alignments(calls("_Z1lv", "", ""), dump) == calls("_Z1lv", "", ""));
  CHECK(with_alignments(calls("_Z1kv", "", ""), "") == calls("_Z1kv", "", ""));
}
