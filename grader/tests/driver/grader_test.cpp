// How a grader is run: what it is told, and how long it may say nothing.
#include "driver/grader.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include "driver/files.h"

using namespace onepass::driver;

namespace {

struct Ran {
  std::optional<std::string> fault;
  std::vector<std::string> events;  // "name" of each check, else its kind
};

// A grader that is a shell script: its events go to descriptor 3, 4 has the names of checks.
Ran run(const std::string& commands, HandOut& checks, double patience = 60) {
  const ScratchFolder folder(std::filesystem::temp_directory_path());
  Chapter chapter;
  chapter.name = "toy";
  chapter.grader = folder.path() / "grade-toy";
  write_file(chapter.grader, "#!/bin/sh\n" + commands);
  chmod(chapter.grader.c_str(), 0755);
  GraderRun run;
  run.chapter = &chapter;
  run.exercise = "toy/first";
  run.checks = &checks;
  run.patience = patience;
  Ran ran;
  ran.fault = run_grader(run, [&](const Json& event) {
    ran.events.push_back(event.value("name", event.at("event").get<std::string>()));
  });
  return ran;
}

const std::string kGradeThem =
    "while read -r name <&4; do\n"
    "  echo \"{\\\"event\\\":\\\"check\\\",\\\"name\\\":\\\"$name\\\","
    "\\\"status\\\":\\\"passed\\\"}\" >&3\n"
    "done\n";
const std::string kEnd = "echo '{\"event\":\"end\"}' >&3\n";
const std::string kCall = "echo '{\"event\":\"call\"}' >&3\n";

}  // namespace

TEST_CASE("a grader is told one check after the other, until there is none") {
  HandOut checks({"a b", "c"});
  const Ran ran = run(kGradeThem + kEnd, checks);
  CHECK_FALSE(ran.fault);
  CHECK(ran.events == std::vector<std::string>{"a b", "c", "end"});
}

TEST_CASE("of a grader that is killed one check is lost; another one goes on with the rest") {
  HandOut checks({"a", "b", "c"});
  const Ran killed = run("read -r name <&4; kill -KILL $$\n", checks);
  REQUIRE(killed.fault);
  CHECK(killed.fault->find("was killed by signal 9") != std::string::npos);
  const Ran other = run(kGradeThem + kEnd, checks);
  CHECK_FALSE(other.fault);
  CHECK(other.events == std::vector<std::string>{"b", "c", "end"});
}

TEST_CASE("a grader that calls slow code is not silent; one that says nothing hangs") {
  HandOut none({});
  const std::string slow = kCall + "sleep 0.4\n";
  const Ran ran = run(slow + slow + slow + slow + kEnd, none, 1.0);
  CHECK_FALSE(ran.fault);
  CHECK(ran.events == std::vector<std::string>{"end"});
  const Ran silent = run("sleep 60\n", none, 1.0);
  REQUIRE(silent.fault);
  CHECK(silent.fault->find("did not end in time") != std::string::npos);
}
