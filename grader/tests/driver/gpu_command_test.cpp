// `onepass grade` on a GPU that is pretended: in which order, and with what, its grader is called.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>

#include "driver/files.h"
#include "driver/text.h"
#include "tests/driver/workbook.h"

using namespace onepass::driver;
using onepass::driver::test::has;
using onepass::driver::test::Workbook;

TEST_CASE("on a GPU, a worker that can be trusted is there for the checks of what is begun") {
  const Workbook workbook;
  const std::string root = workbook.root().string();
  write_file(root + "/naive.cu", "int answer() { return 1; }\n");
  workbook.edit_config("\"naive\": \"\"", "\"naive\": \"" + root + "/naive.cu\"");
  workbook.pretend_gpu();
  workbook.set_grader("echo \"$@\" >> " + root + "/calls\n" + Workbook::kEnd);
  // How the first call of the grader goes on after its fixed part.
  const auto trusted = [&] {
    std::filesystem::remove(root + "/calls");
    workbook.onepass("grade first");
    const std::string call = first_line(read_file(root + "/calls"));
    REQUIRE(has(call, "--device gpu"));
    return std::string(has(call, "--naive") ? "naive" : has(call, "--reference") ? "solution" : "");
  };
  CHECK(trusted() == "naive");  // there is no solution
  write_file(root + "/solutions/01_toy/first.cu",
             "#include <toy.h>\n// [solution 1]\nint answer() { return 42; }\n// [end]\n");
  CHECK(trusted() == "solution");
  write_file(workbook.exercise("first"), "#include <toy.h>\n");  // as it was given
  write_file(root + "/main.cpp", "int main() {}\n");
  CHECK(trusted() == "");
}

TEST_CASE("on a GPU exercises are graded one by one, and measured behind all of them") {
  const Workbook workbook;
  workbook.pretend_gpu();
  const std::string log = (workbook.root() / "log").string();
  const auto noted = [&](const std::string& what) {
    return fmt::format(
        "case \" $* \" in *\" --device gpu \"*) echo 'begin {0}' >> {1}; sleep 0.3; echo 'end {0}' "
        ">> {1};; esac\n",
        what, log);
  };
  workbook.set_grader(noted("checks") + R"(
printf '{"event":"check","name":"answers 42","status":"passed"}\n' >> "$EVENTS"
[ "$EXERCISE" = toy/second ] ||
  printf '{"event":"check","name":"answers always","status":"passed"}\n' >> "$EVENTS"
)" + Workbook::kEnd,
                      noted("times") + Workbook::kEnd);
  CHECK(workbook.onepass("grade").code == 0);
  CHECK(read_file(log) ==
        "begin checks\nend checks\nbegin checks\nend checks\n"
        "begin times\nend times\nbegin times\nend times\n");
}
