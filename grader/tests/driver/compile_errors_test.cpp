// From a compiler's output to the student's own line.
#include "driver/compile_errors.h"

#include <doctest/doctest.h>

using namespace onepass::driver;

namespace {
constexpr const char* kFile = "exercises/01_rmsnorm/forward.cu";

std::optional<FirstError> find(const std::string& output) {
  return first_error(output, kFile, "forward.binding.cu", false);
}

CompileError theirs(const std::string& output) {
  const auto error = find(output);
  REQUIRE(error);
  CHECK(error->is_theirs);
  return *error;
}

// What may be a fault, too.
CompileError doubtful(const std::string& output) {
  const auto error = find(output);
  REQUIRE(error);
  CHECK_FALSE(error->is_theirs);
  return *error;
}
}  // namespace

TEST_CASE("g++: the first error, not the first warning") {
  const CompileError error = theirs(
      "exercises/01_rmsnorm/forward.cu: In function 'void f()':\n"
      "exercises/01_rmsnorm/forward.cu:50:7: warning: unused variable 'a' [-Wunused-variable]\n"
      "exercises/01_rmsnorm/forward.cu:52:10: error: 'lane' was not declared in this scope\n"
      "exercises/01_rmsnorm/forward.cu:60:10: error: expected ';' before '}' token\n");
  CHECK(error.message == "'lane' was not declared in this scope");
  CHECK(error.location == "exercises/01_rmsnorm/forward.cu:52");
}

TEST_CASE("g++: an error in a header is told at the line that led there") {
  const CompileError error = doubtful(
      "In file included from exercises/01_rmsnorm/forward.cu:15,\n"
      "                 from forward.binding.cu:1:\n"
      "include/shuffle.h: In instantiation of 'T shuffle(T) [with T = char]':\n"
      "exercises/01_rmsnorm/forward.cu:33:14:   required from here\n"
      "include/shuffle.h:9:3: error: static assertion failed: a shuffle moves 4 or 8 bytes\n");
  CHECK(error.message == "a shuffle moves 4 or 8 bytes");
  CHECK(error.location == "exercises/01_rmsnorm/forward.cu:33");
}

TEST_CASE("g++: of several templates the line is told that uses the header") {
  const CompileError error = doubtful(
      "In file included from exercises/01_rmsnorm/forward.cu:15:\n"
      "include/atomics.h: In instantiation of 'float4 atomicAdd(float4*, float4)':\n"
      "exercises/01_rmsnorm/forward.cu:23:12:   required from 'void add(T*) [with T = float4]'\n"
      "exercises/01_rmsnorm/forward.cu:26:4:   required from 'void kernel(T*) [with T = float4]'\n"
      "exercises/01_rmsnorm/forward.cu:38:13:   required from here\n"
      "include/atomics.h:9:3: error: static assertion failed: no atomicAdd() of float4\n");
  CHECK(error.message == "no atomicAdd() of float4");
  CHECK(error.location == "exercises/01_rmsnorm/forward.cu:23");
}

TEST_CASE("an error in a header that the exercise gives is told with its line, too") {
  const CompileError gnu = doubtful(
      "/w/grader/include/onepass/fast.h: In instantiation of 'void put(T) [with T = char]':\n"
      "exercises/01_rmsnorm/forward.cu:33:14:   required from here\n"
      "/w/grader/include/onepass/fast.h:9:3: error: no match for 'operator+'\n");
  CHECK(gnu.message == "no match for 'operator+' (at onepass/fast.h:9, which this line uses)");
  CHECK(gnu.location == "exercises/01_rmsnorm/forward.cu:33");
  const CompileError nvcc = doubtful(
      "/w/grader/include/onepass/fast.h(9): error: no operator \"+\" matches\n"
      "          detected during instantiation of \"void onepass::put(T) [with T=char]\" at line "
      "33 "
      "of exercises/01_rmsnorm/forward.cu\n");
  CHECK(nvcc.message == "no operator \"+\" matches (at onepass/fast.h:9, which this line uses)");
  CHECK(nvcc.location == "exercises/01_rmsnorm/forward.cu:33");
  const CompileError asserted = doubtful(
      "exercises/01_rmsnorm/forward.cu:33:14:   required from here\n"
      "/w/grader/include/onepass/fast.h:9:3: error: static assertion failed: 16 bytes at most\n");
  CHECK(asserted.message == "16 bytes at most");
}

TEST_CASE("g++: a header that is not there") {
  const CompileError error = doubtful(
      "exercises/01_rmsnorm/forward.cu:16:10: fatal error: cub/cub.cuh: No such file or directory\n"
      "compilation terminated.\n");
  CHECK(error.message == "cub/cub.cuh: No such file or directory");
  CHECK(error.location == "exercises/01_rmsnorm/forward.cu:16");
}

TEST_CASE("what a line lacks at its end may be told at the next one") {
  const std::string above = " (is something missing at the end of the code above?)";
  for (const char* message :
       {"expected ',' or ';' before 'float'", "expected initializer before 'float'",
        "expected primary-expression before '}' token"}) {
    const CompileError error =
        theirs(std::string("exercises/01_rmsnorm/forward.cu:4:3: error: ") + message + "\n");
    CHECK(error.message == message + above);
    CHECK(error.location == "exercises/01_rmsnorm/forward.cu:4");
  }
  for (const char* message : {"expected a \";\"", "expected an expression"}) {
    CHECK(theirs(std::string("exercises/01_rmsnorm/forward.cu(4): error: ") + message + "\n")
              .message == message + above);
  }
  // g++ tells these at the line that lacks it.
  for (const char* message : {"expected ';' before '}' token", "expected ')' before 'int'"}) {
    CHECK(theirs(std::string("exercises/01_rmsnorm/forward.cu:3:8: error: ") + message + "\n")
              .message == message);
  }
}

TEST_CASE("a namespace that is not closed") {
  CHECK(theirs("forward.binding.cu:9:1: error: 'rmsnorm_forward' is not a member of "
               "'onepass::onepass'; did you mean 'onepass::rmsnorm_forward'?\n")
            .message == "namespace onepass is not closed: is a } missing?");
}

TEST_CASE("nvcc") {
  const CompileError error = theirs(
      "exercises/01_rmsnorm/forward.cu(48): warning #177-D: variable \"x_row\" was declared but "
      "never referenced\n\n"
      "exercises/01_rmsnorm/forward.cu(52): error: identifier \"lane\" is undefined\n"
      "    if (lane == 0) {\n        ^\n\n1 error detected in the compilation of \"x.cu\".\n");
  CHECK(error.message == "identifier \"lane\" is undefined");
  CHECK(error.location == "exercises/01_rmsnorm/forward.cu:52");
}

TEST_CASE("nvcc: an error in a header is told at the line that led there") {
  const CompileError error = doubtful(
      "cuda/include/sm_30_intrinsics.hpp(70): error: no operator \"=\" matches these operands\n"
      "          detected during instantiation of \"T f(T)\" at line 33 of "
      "exercises/01_rmsnorm/forward.cu\n"
      "exercises/01_rmsnorm/forward.cu(40): error: another\n");
  CHECK(error.message == "no operator \"=\" matches these operands");
  CHECK(error.location == "exercises/01_rmsnorm/forward.cu:33");
}

TEST_CASE("ptxas has no line to tell") {
  const CompileError error = theirs(
      "ptxas error   : Entry function 'k' uses too much shared data (0x10000 bytes, 0xc000 max)\n");
  CHECK(error.message ==
        "Entry function 'k' uses too much shared data (0x10000 bytes, 0xc000 max)");
  CHECK(error.location.empty());
}

TEST_CASE("the rewriter's errors look like a compiler's") {
  const CompileError error =
      theirs("exercises/01_rmsnorm/forward.cu:70: error: this launch has no closing >>>\n");
  CHECK(error.message == "this launch has no closing >>>");
  CHECK(error.location == "exercises/01_rmsnorm/forward.cu:70");
}

TEST_CASE("a function that is not there is told in words") {
  CHECK(missing_function("/usr/bin/ld: binding.o: in function `call':\n"
                         "binding.cu:9: undefined reference to `void "
                         "onepass::rmsnorm_forward<__half>(__half const*, long, int)'\n",
                         kFile) == "forward.cu does not define rmsnorm_forward<__half>");
  CHECK(missing_function("undefined reference to `cublasSgemm_v2'\n", kFile).empty());
  std::string endless = "undefined reference to `onepass::f<";  // more than std::regex can hold
  for (int line = 0; line < 1000; ++line) {
    endless += std::string(900, 'A') + "\n";
  }
  CHECK(missing_function(endless, kFile).empty());
}

TEST_CASE("what the machine may be to blame for is not surely theirs") {
  const std::string file = kFile;
  for (const std::string& output : {
           std::string(),
           std::string("c++: fatal error: Killed signal terminated program cc1plus\n"),
           std::string(
               "c++: fatal error: cannot execute 'as': execvp: No such file or directory\n"),
           std::string("collect2: fatal error: cannot find 'ld'\n"),
           std::string(
               "cc1plus: out of memory allocating 65536 bytes after a total of 800 bytes\n"),
           file + ":52:1: fatal error: error writing to /tmp/a.s: No space left on device\n",
           file + ":52:1: internal compiler error: Segmentation fault\n",
           file + "(93): catastrophic error: out of memory\n",
           file + ":1:10: fatal error: cuda_runtime.h: Too many open files\n",
           file + ":50:7: warning: unused variable 'a'\n/usr/bin/ld: final link failed: No space "
                  "left on device\ncollect2: error: ld returned 1 exit status\n",
           std::string("a.s: Assembler messages:\na.s: Fatal error: can't write 9 bytes\n"),
           std::string("/include/worker.h:4:10: fatal error: json.h: No such file or directory\n"),
           std::string("/include/worker.h:4:10: error: expected ';'\n"),
           std::string("forward.binding.cu:4:10: fatal error: worker.h: No such file\n"),
           std::string("ptxas fatal   : Memory allocation failure\n"),
           std::string("/usr/bin/ld: Scrt1.o: in function `_start':\n"
                       "(.text+0x17): undefined reference to `main'\n"),
           std::string("lib/libworker.a: file not recognized: file format not recognized\n"),
       }) {
    INFO(output);
    const auto error = find(output);
    CHECK_FALSE((error && error->is_theirs));
  }
}

TEST_CASE("an error in a header is not told at the line of an earlier message") {
  const std::string broken = "/usr/include/math.h:4:10: error: expected ';'\n";
  for (const char* earlier : {":50:7: warning: unused variable 'a'\n   50 | int a;\n",
                              ":50:7: warning: 'a' is hidden\n", ":60:7: note: by this one\n"}) {
    const CompileError error = doubtful(kFile + std::string(earlier) + broken);
    CHECK(error.message == "expected ';' (at math.h:4: is something in this file not closed?)");
    CHECK(error.location.empty());
  }
}

TEST_CASE("what has no line, but is theirs") {
  CHECK(theirs("forward.binding.cu:8:1: error: expected '}' at end of input\n").message ==
        "expected '}' at end of input");
  CHECK(theirs("/tmp/a.s: Assembler messages:\n/tmp/a.s:20: Error: no such instruction: `x'\n")
            .message == "no such instruction: `x'");
  CHECK(doubtful("a.a(a.o): in function `f':\na.cpp:(.text+0x3): relocation truncated to fit: "
                 "R_X86_64_PC32 against `.bss'\n")
            .message == "relocation truncated to fit: R_X86_64_PC32 against `.bss'");
  CHECK(theirs("nvlink error   : Undefined reference to '_Z1fv' in 'binding.o'\n").message ==
        "Undefined reference to '_Z1fv' in 'binding.o'");
}

TEST_CASE("an undefined or second symbol is told at the line that needs it") {
  const CompileError undefined = doubtful(
      "/usr/bin/ld: cache/binding.o: in function `f()':\n"
      "exercises/01_rmsnorm/forward.cu:12: undefined reference to `helper(int)'\n");
  CHECK(undefined.message == "undefined reference to `helper(int)'");
  CHECK(undefined.location == "exercises/01_rmsnorm/forward.cu:12");
  CHECK(doubtful("/usr/bin/ld: lib/libworker.a(main.o): in function `main':\nmain.cpp:9: multiple "
                 "definition of `main'; cache/binding.o:forward.cu:3: first defined here\n")
            .message.find("multiple definition of `main'") == 0);
}
