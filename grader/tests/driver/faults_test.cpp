// Faults of the grader and of the machine, each made on purpose: none is told as the student's,
// what to do is said, nothing stays behind, and the same submission is graded once the fault is
// gone.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <thread>

#include "driver/files.h"
#include "driver/report.h"
#include "process/process.h"
#include "tests/driver/workbook.h"

using namespace onepass::driver;
using onepass::driver::test::has;
using onepass::driver::test::Workbook;
namespace fs = std::filesystem;
namespace process = onepass::process;

namespace {

std::string cache(const Workbook& workbook) {
  return (workbook.root() / "build/cache").string();
}

// What is no worker that is kept, in the cache and beside the report.
int left_behind(const Workbook& workbook) {
  int count = 0;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(cache(workbook), error)) {
    count += entry.path().filename().string().rfind("cpu-toy-", 0) == 0 ? 0 : 1;
  }
  for (const auto& entry : fs::directory_iterator(workbook.root() / "build/report", error)) {
    count += entry.path().extension() == ".json" ? 0 : 1;
  }
  return count;
}

void is_a_fault(const Workbook::Outcome& outcome, const std::string& what_to_do) {
  INFO(outcome.output);
  CHECK(outcome.code == 3);
  CHECK(has(outcome.output, what_to_do));
  CHECK((has(outcome.output, "not yours") || has(outcome.output, "no fault of yours")));
  CHECK_FALSE(has(outcome.output, "does not compile"));
}

void grades_normally(const Workbook& workbook) {
  CHECK(left_behind(workbook) == 0);
  const auto outcome = workbook.onepass("grade");
  INFO(outcome.output);
  CHECK(outcome.code == 0);
  CHECK(has(outcome.output, "Score: 9 of 9\n"));
  CHECK(left_behind(workbook) == 0);
}

// Runs onepass among mounts of its own: `commands` first. Nothing where that cannot be done.
std::optional<Workbook::Outcome> grade_among_mounts(const Workbook& workbook,
                                                    const std::string& commands) {
  if (!process::run({{"unshare", "-Urm", "mount", "-t", "tmpfs", "none", "/mnt"}}, 10)
           .succeeded()) {
    MESSAGE("no mounts in a namespace here");
    return std::nullopt;
  }
  return workbook.onepass("grade", "unshare -Urm sh -e -c '" + commands + "; exec \"$@\"' sh");
}

// The compiler, with shell commands before it.
void set_compiler(const Workbook& workbook, const std::string& commands) {
  const fs::path script = workbook.root() / "build/c++";
  if (!has(read_file(workbook.root() / "build/onepass.json"), script.string())) {
    workbook.edit_config(ONEPASS_CXX_COMPILER, script.string());
  }
  write_file(script, "#!/bin/sh\n" + commands + "\nexec " + ONEPASS_CXX_COMPILER + " \"$@\"\n");
  fs::permissions(script, fs::perms::owner_all);
}

bool waits_for(const std::function<bool()>& condition) {
  for (int i = 0; i < 200 && !condition(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return condition();
}

}  // namespace

TEST_CASE("a compiler that is killed") {
  const Workbook workbook;
  set_compiler(workbook, "kill -KILL $$");
  const auto outcome = workbook.onepass("grade");
  is_a_fault(outcome, "let other programs end, or give it more memory");
  CHECK(has(outcome.output, "The same fault"));
  const Json report = workbook.report("report/exercises");
  CHECK(report["exercises"][0]["status"] == "ungraded");
  CHECK(report["exercises"][0]["fault"].is_string());
  set_compiler(workbook, "");
  grades_normally(workbook);
}

// Shell commands for set_compiler(): these if the text has the word "odd".
std::string if_odd(const std::string& commands) {
  return "for a; do case $a in *SUBMISSION*) a=${a#*=\\\"}; grep -q odd \"${a%\\\"}\" && " +
         commands + ";; esac; done";
}

TEST_CASE("what stops a tool on one text only, twice, is the text's fault") {
  const Workbook workbook;
  workbook.have_naive();
  write_file(workbook.exercise("first"), "/* odd */ int answer() { return 42; }\n");
  const auto says = [](const char* words) {
    return fmt::format("{{ echo '{}'; exit 1; }}", words);
  };
  const std::vector<std::pair<std::string, const char*>> stops = {
      {says("toy.h(1): error: expected a )"), "expected a ) (at toy.h:1: is something"},
      {says("x.h:1:10: fatal error: none.h: No such file"), "none.h: No such file (at x.h:1)"},
      {says("ld: relocation R_X86_64_32\ncollect2: error: ld returned 1 exit status"),
       "on this file: ld: relocation R_X86_64_32."},
      {says("c++: fatal error: Killed signal terminated program cc1plus"),
       "on this file: c++: fatal error: Killed signal terminated program cc1plus."},
      {"kill -SEGV $$", "on this file: was killed by signal 11"},
      {"kill -KILL $$", "on this file: was killed by signal 9"},
  };
  for (const auto& [stop, told] : stops) {
    set_compiler(workbook, if_odd(stop));
    const auto outcome = workbook.onepass("grade");
    INFO(outcome.output);
    CHECK(outcome.code == 0);
    CHECK(has(outcome.output, "toy/first     0 of 5   compile error"));
    CHECK(has(outcome.output, told));
    CHECK(has(outcome.output, "Score: 4 of 9"));
  }
  set_compiler(workbook, "kill -SEGV $$");  // any text
  is_a_fault(workbook.onepass("grade first"), "was killed by signal 11");
  set_compiler(workbook, "");
  grades_normally(workbook);
}

TEST_CASE("a compiler that does not find its libraries") {
  const Workbook workbook;
  workbook.have_naive();
  set_compiler(workbook,
               "echo 'cc1plus: error while loading shared libraries: libgmp.so.10: cannot open "
               "shared object file: Permission denied' >&2; exit 127");
  is_a_fault(workbook.onepass("grade"), "into LD_LIBRARY_PATH");
}

TEST_CASE("what stops a tool once is no fault of the text") {
  const Workbook workbook;
  workbook.have_naive();
  write_file(workbook.exercise("first"), "/* odd */ int answer() { return 42; }\n");
  const std::string busy = (workbook.root() / "include/busy").string();
  write_file(busy, "");
  set_compiler(workbook, if_odd("[ -e '" + busy + "' ] && { sleep 1; kill -KILL $$; }"));
  const auto outcome = workbook.onepass("grade", "(sleep 0.5; rm '" + busy + "') &");
  INFO(outcome.output);
  CHECK(outcome.code == 0);
  CHECK(has(outcome.output, "Score: 9 of 9\n"));
}

TEST_CASE("a library of ours that is damaged is no fault of theirs") {
  const Workbook workbook;
  workbook.have_naive();
  write_file(workbook.root() / "main.cpp", "");
  is_a_fault(workbook.onepass("grade"), "undefined reference to `main'");
}

TEST_CASE("a compiler that may not be run, or has gone") {
  const Workbook workbook;
  set_compiler(workbook, "");
  fs::permissions(workbook.root() / "build/c++", fs::perms::owner_read);
  is_a_fault(workbook.onepass("grade"), "see to its permissions");
  fs::remove(workbook.root() / "build/c++");
  is_a_fault(workbook.onepass("grade"), "install it again");
  set_compiler(workbook, "");
  grades_normally(workbook);
}

TEST_CASE("an assembler or a linker that does not work") {
  const Workbook workbook;
  for (const char* tool : {"as", "ld"}) {
    const auto outcome = grade_among_mounts(
        workbook, fmt::format("mount --bind /dev/null \"$(command -v {})\"", tool));
    if (outcome) {
      is_a_fault(*outcome, "exited with 1");
    }
  }
  grades_normally(workbook);
}

TEST_CASE("no room on the disk") {
  const Workbook workbook;
  fs::create_directories(cache(workbook));
  for (const char* size : {"4k", "16k"}) {
    if (const auto outcome = grade_among_mounts(
            workbook, fmt::format("mount -t tmpfs -o size={} none {}", size, cache(workbook)))) {
      is_a_fault(*outcome, "make room on its disk");
    }
  }
  grades_normally(workbook);
}

TEST_CASE("a report that cannot be written; a device or a pipe stays one") {
  const Workbook workbook;
  // A copy: a driver that goes wrong may do harm to the machine's own.
  const std::string full = (workbook.root() / "full").string();
  if (mknod(full.c_str(), S_IFCHR | 0666, makedev(1, 7)) == 0) {
    is_a_fault(workbook.onepass("grade --report " + full), "make room on its disk");
    CHECK(fs::is_character_file(full));
  }
  const std::string pipe = (workbook.root() / "pipe").string();
  mkfifo(pipe.c_str(), 0600);
  const auto read = workbook.onepass(fmt::format("grade --report {0} > /dev/null; wait", pipe),
                                     fmt::format("cat {} &", pipe));
  CHECK(fs::is_fifo(pipe));
  CHECK(Json::parse(read.output)["score"] == 9);  // one report, the last
  is_a_fault(workbook.onepass("grade --report " + workbook.exercise("first").string() + "/a.json"),
             "give another file with --report");
  grades_normally(workbook);
}

TEST_CASE("a report to a link goes where it leads, and the link stays") {
  const Workbook workbook;
  const fs::path link = workbook.root() / "link";
  const std::string file = (workbook.root() / "build/file.json").string();
  const auto whole = [](const std::string& text) { return Json::parse(text)["score"] == 9; };
  write_file(file, std::string(100000, ' '));
  fs::create_symlink("build/file.json", link);
  CHECK(workbook.onepass("grade --report " + link.string()).code == 0);
  CHECK(fs::is_symlink(link));
  CHECK(whole(read_file(file)));
  // Copies: a driver that goes wrong may do harm to the machine's own.
  fs::remove(link);
  fs::create_symlink("/proc/self/fd/1", link);
  CHECK(workbook.onepass("grade --report " + link.string() + " > " + file).code == 0);
  CHECK(fs::is_symlink(link));
  const std::string both = read_file(file);
  CHECK(has(both, "Score: 9 of 9\n"));
  CHECK(whole(both.substr(both.find("\n{\n"), both.rfind("\n}\n") + 2 - both.find("\n{\n"))));
  const auto piped = workbook.onepass("grade --report " + link.string() + " | cat");
  CHECK(has(piped.output, "\"score\": 9"));
  CHECK(workbook.onepass("grade --report /dev/fd/1 > " + file).code == 0);
  CHECK(has(read_file(file), "Score: 9 of 9\n"));
}

TEST_CASE("a scratch folder that cannot be made") {
  const Workbook workbook;
  write_file(cache(workbook), "a file");
  is_a_fault(workbook.onepass("grade"), "Cannot make a folder in");
  fs::remove(cache(workbook));
  grades_normally(workbook);
}

TEST_CASE("little memory, few files, little stack") {
  const Workbook workbook;
  is_a_fault(workbook.onepass("grade", "ulimit -v 4000000;"), "ulimit -v");
  is_a_fault(workbook.onepass("grade", "ulimit -n 20;"), "ulimit -n");
  is_a_fault(workbook.onepass("grade", "ulimit -s 100;"), "ulimit -s");
  is_a_fault(workbook.onepass("grade", "ulimit -t 600;"), "ulimit -t");
  is_a_fault(workbook.onepass("grade", "ulimit -f 2;"), "ulimit -f");
  if (geteuid() != 0) {  // root may have any number
    is_a_fault(workbook.onepass("grade", "prlimit --nproc=1"), "ulimit -u");
  }
  CHECK(left_behind(workbook) == 0);
  const auto outcome = workbook.onepass(
      "grade", "ulimit -S -n 20; ulimit -S -s 200; ulimit -S -v 4000000; ulimit -S -t 600;");
  INFO(outcome.output);
  CHECK(outcome.code == 0);  // soft limits are ours to raise
  grades_normally(workbook);
}

TEST_CASE("a damaged entry of the cache is made anew") {
  const Workbook workbook;
  grades_normally(workbook);
  const auto damages = std::vector<std::function<void(const fs::path&)>>{
      [](const fs::path& entry) { fs::resize_file(entry / "worker", 1000); },
      [](const fs::path& entry) { fs::resize_file(entry / "worker", 0); },
      [](const fs::path& entry) { fs::remove(entry / "worker"); },
      [](const fs::path& entry) { fs::permissions(entry / "worker", fs::perms::owner_read); },
      [](const fs::path& entry) {
        std::string worker = read_file(entry / "worker");
        worker[worker.size() / 2] ^= 1;
        fs::remove(entry / "worker");
        write_file(entry / "worker", worker);
        fs::permissions(entry / "worker", fs::perms::owner_all);
      },
      [](const fs::path& entry) { fs::remove(entry / "key"); },
      [](const fs::path& entry) { fs::remove(entry / "seal"); },
      [](const fs::path& entry) {
        fs::remove_all(entry);
        write_file(entry, "");
      },
  };
  for (std::size_t i = 0; i < damages.size(); ++i) {
    CAPTURE(i);
    std::vector<fs::path> entries(fs::directory_iterator(cache(workbook)), {});
    for (const fs::path& entry : entries) {
      damages[i](entry);
    }
    grades_normally(workbook);
  }
}

TEST_CASE("standard output that is closed, full or read by nobody") {
  const Workbook workbook;
  for (const char* where : {" >&-", " > /dev/full", " 2>&1 >&- | cat", " <&- >&- 2>&-"}) {
    CAPTURE(where);
    fs::remove(workbook.root() / "build/report/exercises.json");
    const auto outcome = workbook.onepass(std::string("grade") + where + "; exit $?");
    CHECK((outcome.code == 3 || has(where, "| cat")));
    CHECK((has(outcome.output, "Not all could be printed") || has(where, "2>&-")));
    const Json report = workbook.report("report/exercises");
    CHECK(report["complete"] == true);
    CHECK(report["score"] == 9);
  }
  const auto unread = workbook.onepass("grade; echo \"code $?\" >&2; } | true", "{ sleep 0.2;");
  CHECK(has(unread.output, "code 3"));
  grades_normally(workbook);
}

TEST_CASE("a driver that is killed leaves neither compilers nor files") {
  const Workbook workbook;
  set_compiler(workbook,
               "for a; do case $a in *binding.s) echo \"$$\" > \"${a%binding.s}pid\";; "
               "esac; done; sleep 61; true");
  process::Process driver(
      {{"/bin/sh", "-c",
        fmt::format(
            "echo $$ > '{1}/driver'; exec '{0}/onepass' --workbook '{1}/build/onepass.json' "
            "grade first",
            ONEPASS_BINARY_DIR, workbook.root().string())}});
  std::vector<pid_t> compilers;
  CHECK(waits_for([&] {
    std::error_code error;
    for (const auto& entry : fs::recursive_directory_iterator(cache(workbook), error)) {
      if (entry.path().filename() == "pid" && fs::file_size(entry.path(), error) > 0) {
        compilers = {static_cast<pid_t>(std::stoi(read_file(entry.path())))};
      }
    }
    return !compilers.empty();
  }));
  REQUIRE_FALSE(compilers.empty());
  const auto session_lives = [&] { return kill(-compilers[0], 0) == 0; };  // it leads its group
  CHECK(session_lives());
  prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);  // what is left is to be nobody's: not ours to kill
  kill(std::stoi(read_file(workbook.root() / "driver")), SIGKILL);
  CHECK(waits_for([&] { return !session_lives() && left_behind(workbook) == 0; }));
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  set_compiler(workbook, "");
  grades_normally(workbook);
}

TEST_CASE("a driver that is stopped and goes on") {
  const Workbook workbook;
  const auto outcome = workbook.onepass(
      "grade & pid=$!; sleep 0.1; kill -STOP $pid; sleep 2; kill -CONT $pid; "
      "wait $pid");
  CHECK(outcome.code == 0);
  CHECK(has(outcome.output, "Score: 9 of 9\n"));
  grades_normally(workbook);
}

TEST_CASE("Ctrl-C at any time says so") {
  const Workbook workbook;
  for (int i = 0; i < 12; ++i) {
    const auto outcome = workbook.onepass(
        fmt::format("grade & pid=$!; sleep 0.{:02}; kill -INT $pid; wait $pid", 5 * (i + 1)));
    INFO(outcome.output);
    CHECK((outcome.code == 130 || outcome.code == 0));
    CHECK(has(outcome.output, "Interrupted") == (outcome.code == 130));
    CHECK(left_behind(workbook) == 0);
    fs::remove_all(cache(workbook));
  }
  grades_normally(workbook);
}
