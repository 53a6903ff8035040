// From a compiler's output to the student's own line.
#include "driver/compile_errors.h"

#include <doctest/doctest.h>

using namespace onepass::driver;

namespace {
constexpr const char* kFile = "exercises/01_rmsnorm/forward.cu";
}

TEST_CASE("g++: the first error, not the first warning") {
  const CompileError error = first_error(
      "exercises/01_rmsnorm/forward.cu: In function 'void f()':\n"
      "exercises/01_rmsnorm/forward.cu:50:7: warning: unused variable 'a' [-Wunused-variable]\n"
      "exercises/01_rmsnorm/forward.cu:52:10: error: 'lane' was not declared in this scope\n"
      "exercises/01_rmsnorm/forward.cu:60:10: error: expected ';' before '}' token\n",
      kFile);
  CHECK(error.message == "'lane' was not declared in this scope");
  CHECK(error.location == "exercises/01_rmsnorm/forward.cu:52");
}

TEST_CASE("g++: an error in a header is told at the line that led there") {
  const CompileError error = first_error(
      "In file included from exercises/01_rmsnorm/forward.cu:15,\n"
      "                 from forward.binding.cu:1:\n"
      "include/shuffle.h: In instantiation of 'T shuffle(T) [with T = char]':\n"
      "exercises/01_rmsnorm/forward.cu:33:14:   required from here\n"
      "include/shuffle.h:9:3: error: static assertion failed: a shuffle moves 4 or 8 bytes\n",
      kFile);
  CHECK(error.message == "static assertion failed: a shuffle moves 4 or 8 bytes");
  CHECK(error.location == "exercises/01_rmsnorm/forward.cu:33");
}

TEST_CASE("g++: a header that is not there") {
  const CompileError error = first_error(
      "exercises/01_rmsnorm/forward.cu:16:10: fatal error: cub/cub.cuh: No such file or directory\n"
      "compilation terminated.\n",
      kFile);
  CHECK(error.message == "cub/cub.cuh: No such file or directory");
  CHECK(error.location == "exercises/01_rmsnorm/forward.cu:16");
}

TEST_CASE("nvcc") {
  const CompileError error = first_error(
      "exercises/01_rmsnorm/forward.cu(48): warning #177-D: variable \"x_row\" was declared but "
      "never referenced\n\n"
      "exercises/01_rmsnorm/forward.cu(52): error: identifier \"lane\" is undefined\n"
      "    if (lane == 0) {\n        ^\n\n1 error detected in the compilation of \"x.cu\".\n",
      kFile);
  CHECK(error.message == "identifier \"lane\" is undefined");
  CHECK(error.location == "exercises/01_rmsnorm/forward.cu:52");
}

TEST_CASE("nvcc: an error in a header is told at the line that led there") {
  const CompileError error = first_error(
      "cuda/include/sm_30_intrinsics.hpp(70): error: no operator \"=\" matches these operands\n"
      "          detected during instantiation of \"T f(T)\" at line 33 of "
      "exercises/01_rmsnorm/forward.cu\n"
      "exercises/01_rmsnorm/forward.cu(40): error: another\n",
      kFile);
  CHECK(error.message == "no operator \"=\" matches these operands");
  CHECK(error.location == "exercises/01_rmsnorm/forward.cu:33");
}

TEST_CASE("ptxas has no line to tell") {
  const CompileError error = first_error(
      "ptxas error   : Entry function 'k' uses too much shared data (0x10000 bytes, 0xc000 max)\n",
      kFile);
  CHECK(error.message ==
        "Entry function 'k' uses too much shared data (0x10000 bytes, 0xc000 max)");
  CHECK(error.location.empty());
}

TEST_CASE("the rewriter's errors look like a compiler's") {
  const CompileError error = first_error(
      "exercises/01_rmsnorm/forward.cu:70: error: this launch has no closing >>>\n", kFile);
  CHECK(error.message == "this launch has no closing >>>");
  CHECK(error.location == "exercises/01_rmsnorm/forward.cu:70");
}

TEST_CASE("a function that is not there is told in words") {
  CHECK(missing_function("/usr/bin/ld: binding.o: in function `call':\n"
                         "binding.cu:9: undefined reference to `void "
                         "onepass::rmsnorm_forward<__half>(__half const*, long, int)'\n",
                         kFile) == "forward.cu does not define rmsnorm_forward<__half>");
  CHECK(missing_function("undefined reference to `cublasSgemm_v2'\n", kFile).empty());
}

TEST_CASE("no words at all") {
  CHECK(first_error("", kFile).message == "the compiler failed without saying why");
}
