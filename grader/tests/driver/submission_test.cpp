// What a submission may be made of, and what a compiler does for it.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <functional>

#include "driver/files.h"
#include "process/landlock.h"
#include "tests/driver/workbook.h"

using namespace onepass::driver;
using onepass::driver::test::has;
using onepass::driver::test::Workbook;
namespace fs = std::filesystem;

namespace {

constexpr const char* kRight = "int answer() { return 42; }\n";

// A submission whose second exercise is right, and the first is to be made.
struct Submission {
  explicit Submission(const std::string& name = "ada") : folder(workbook.root() / name) {
    workbook.have_naive();
    write_file(folder / "01_toy/second.cu", kRight);
  }
  fs::path first() const { return folder / "01_toy/first.cu"; }
  Workbook::Outcome grade() const {
    return workbook.onepass("grade --submission '" + folder.string() + "'");
  }
  // The first costs itself and not the report.
  void refused(const std::string& sentence) const {
    const auto outcome = grade();
    CHECK(outcome.code == 0);
    INFO(outcome.output);
    CHECK(has(outcome.output, "  ada/01_toy/first.cu " + sentence));
    CHECK(has(outcome.output, "Score: 4 of 9\n"));
  }

  Workbook workbook;
  fs::path folder;
};

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

TEST_CASE("a link out of the folder is not followed, one inside of it is") {
  const Submission ada;
  fs::create_symlink(ada.workbook.exercise("first"), ada.first());
  ada.refused("is a link out of its folder: put the file itself there.");
  fs::remove(ada.first());
  fs::create_symlink("second.cu", ada.first());
  CHECK(has(ada.grade().output, "Score: 9 of 9\n"));
  fs::remove_all(ada.folder / "01_toy");
  fs::create_directory_symlink(ada.workbook.exercise("first").parent_path(), ada.folder / "01_toy");
  const auto outcome = ada.grade();
  CHECK(outcome.code == 2);
  CHECK(has(outcome.output, "is no submission"));
}

TEST_CASE("a pipe, a device or a folder is no file") {
  const Submission ada;
  mkfifo(ada.first().c_str(), 0644);
  ada.refused("is no regular file: put one there.");
  fs::remove(ada.first());
  fs::create_symlink("/dev/zero", ada.first());
  ada.refused("is a link out of its folder");
}

TEST_CASE("a folder that may not be entered costs what is in it; one above it is a fault") {
  const Submission ada("above/ada");
  const std::string as_user = "setpriv --bounding-set=-dac_override,-dac_read_search";
  const auto grade = [&] {
    return ada.workbook.onepass("grade --submission '" + ada.folder.string() + "'", as_user);
  };
  write_file(ada.first(), kRight);
  if (!has(grade().output, "Score: 9 of 9\n")) {
    MESSAGE("no setpriv here");
    return;
  }
  fs::permissions(ada.first(), fs::perms::none);
  CHECK(has(grade().output, "above/ada/01_toy/first.cu cannot be read"));
  CHECK(has(grade().output, "Score: 4 of 9\n"));
  fs::create_directory(ada.folder / "closed");
  fs::rename(ada.first(), ada.folder / "closed/first.cu");
  fs::create_symlink("../closed/first.cu", ada.first());
  fs::permissions(ada.folder / "closed", fs::perms::none);
  CHECK(has(grade().output, "above/ada/01_toy/first.cu cannot be read"));
  CHECK(has(grade().output, "Score: 4 of 9\n"));
  fs::permissions(ada.folder.parent_path(), fs::perms::none);
  const auto outcome = grade();
  CHECK(outcome.code == 3);
  CHECK(has(outcome.output, "see to its permissions"));
  fs::permissions(ada.folder.parent_path(), fs::perms::owner_all);
  fs::permissions(ada.folder / "closed", fs::perms::owner_all);
}

TEST_CASE("a file too large for an exercise is not read") {
  const Submission ada;
  write_file(ada.first(), kRight);
  fs::resize_file(ada.first(), 900 << 20);  // sparse
  CHECK(seconds_of([&] { ada.refused("is larger than 1 MiB"); }) < 10);
}

TEST_CASE("a byte order mark is no part of the text") {
  const Submission ada;
  write_file(ada.first(), std::string("\xef\xbb\xbf#include <toy.h>\r\n") + kRight);
  CHECK(has(ada.grade().output, "Score: 9 of 9\n"));
}

TEST_CASE("any name of the folder is right, and none gives a terminal orders") {
  const Submission eve("e\nv\x1b[31me %s'");
  write_file(eve.first(), "int answer() { return 41; }\n");
  write_file(eve.folder / "01_toy/second.cu", "#error \x1b[2J\x07\n");
  const std::string quoted =
      eve.workbook.root().string() + "/\"$(printf 'e\\nv\\033[31me %%s'\\''')\"";
  const auto outcome = eve.workbook.onepass("grade --report " + eve.workbook.root().string() +
                                            "/build/eve.json --submission " + quoted);
  CHECK(outcome.code == 0);
  CHECK(has(outcome.output, "Score: 3 of 9\n"));
  CHECK(has(outcome.output, "second.cu:1: #error ?[2J?\n"));
  CHECK(outcome.output.find('\x1b') == std::string::npos);
  const Json report = eve.workbook.report("eve");
  CHECK(report["exercises"][1]["file"] == "e?v?[31me %s'/01_toy/second.cu");
  CHECK(report["exercises"][0]["checks"][0]["replay"] == "");
}

TEST_CASE("what a program prints never gives a terminal orders") {
  const Workbook workbook;
  workbook.set_grader(R"(
printf '{"event":"check","name":"answers 42","status":"failed","message":"\\u001b[2J","output":"\\u009b1m"}\n' >> "$EVENTS"
echo '{"event":"end"}' >> "$EVENTS"
)");
  const auto outcome = workbook.onepass("grade first");
  CHECK(has(outcome.output, "?[2J"));
  CHECK(outcome.output.find('\x1b') == std::string::npos);
  CHECK(outcome.output.find('\x9b') == std::string::npos);
  CHECK(workbook.report("report/exercises")["exercises"][0]["checks"][0]["message"] == "?[2J");
}

TEST_CASE("a compiler reads no file outside the include paths") {
  if (onepass::process::landlock_version() == 0) {
    MESSAGE("no Landlock here");
    return;
  }
  const Submission ada;
  const std::string others = (ada.folder / "01_toy/second.cu").string();
  for (const std::string& file :
       {std::string("/dev/zero"), std::string("/proc/self/environ"), others}) {
    write_file(ada.first(), "\n#include \"" + file + "\"\n" + kRight);
    const auto outcome = ada.grade();
    CHECK(outcome.code == 0);
    CHECK(has(outcome.output, "first.cu:2: an exercise may include only"));
    CHECK(has(outcome.output, "Score: 4 of 9\n"));
  }
}

TEST_CASE("a text that is too much for a compiler is the student's own failure") {
  const Submission ada;
  write_file(ada.first(), std::string(kRight) +
                              "#define A(x) x x\n#define B(x) A(A(A(A(x))))\n"
                              "#define C(x) B(B(B(B(x))))\nint C(C(a;))\n");
  const auto outcome = ada.grade();
  CHECK(outcome.code == 0);
  CHECK(has(outcome.output, "first.cu: the compiler cannot do its work on this file: "));
  CHECK(has(outcome.output, "4 GiB of memory"));
  CHECK(has(outcome.output, "Score: 4 of 9\n"));
}

TEST_CASE("a text without end for a compiler is stopped, and the student's own failure") {
  const Submission ada;
  write_file(ada.first(),
             std::string(kRight) +
                 "template <int N, class T> struct R {\n"
                 "  typename R<N - 1, T>::A a; typename R<N - 1, R<N - 1, T>>::A b;\n"
                 "  using A = typename R<N - 1, T>::A;\n};\n"
                 "template <class T> struct R<0, T> { using A = T; };\nR<40, int> r;\n");
  const auto outcome = ada.grade();
  INFO(outcome.output);
  CHECK(outcome.code == 0);
  CHECK(has(outcome.output, "first.cu: the compiler "));  // 25 s of work, if not 4 GiB
  CHECK(has(outcome.output, "Score: 4 of 9\n"));
}

TEST_CASE("lines of any length, in the text and in what a compiler says of it") {
  const Submission ada;
  const std::string blanks(1 << 19, ' ');
  write_file(ada.first(),
             blanks + "#include <string.h>\n#error " + std::string(1 << 18, 'x') + "\n");
  const auto outcome = ada.grade();
  CHECK(outcome.code == 0);
  CHECK(has(outcome.output, "first.cu:2: #error xxxx"));
  CHECK(outcome.output.size() < 10000);
  write_file(ada.first(), blanks + "#include \"" + ada.folder.string() + "/01_toy/second.cu\"\n");
  CHECK(has(ada.grade().output, "an exercise may include only"));
}
