// Whatever a worker does has an outcome of its own, in time, and the next honest call still works.
#include <doctest/doctest.h>
#include <linux/landlock.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "process/process_tree.h"
#include "verdict/worker/worker_client.h"

using namespace onepass::verdict;
namespace process = onepass::process;

namespace {

constexpr double kLimit = 0.4;  // seconds; three times as long by the clock

Case call_of(const std::string& function) {
  Matrix x(Dtype::fp32, 2, 3);
  x.set(1, 2, 42.0);
  Case call(function, Dtype::fp32);
  call.integer("rows", 2).integer("cols", 3);
  call.add({.name = "x", .rows = 2, .cols = 3, .values = x});
  call.add({.name = "y", .role = Role::output, .rows = 2, .cols = 3});
  return call;
}

struct Told {
  Outcome outcome;
  std::string error;
  std::string output;
};

/// What the hostile function comes to, after which the same client must do honest work.
Told told(const std::string& function) {
  WorkerClient client({ONEPASS_HOSTILE_WORKER});
  const Run run = client.run(call_of(function), {}, kLimit);
  const Run honest = client.run(call_of("honest"), {}, 5.0);
  REQUIRE(honest.outcome == Outcome::ok);
  CHECK(honest.answer["y"].get(1, 2) == 42.0);
  CHECK(honest.output.empty());
  return {run.outcome, run.error, run.output};
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

bool has_landlock() {
  return syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION) > 0;
}

}  // namespace

TEST_CASE("a worker that spins is timed out") {
  const auto start = process::Clock::now();
  CHECK(told("spin").outcome == Outcome::timed_out);
  CHECK(process::Clock::now() - start < std::chrono::seconds(10));
}

TEST_CASE("exit(0) is an early end, not a success") {
  const Told exit = told("exit");
  CHECK(exit.outcome == Outcome::ended_early);
  CHECK(contains(exit.error, "exit(0)"));
}

TEST_CASE("a crash is told with the signal's name") {
  const Told abort = told("abort");
  CHECK(abort.outcome == Outcome::crashed);
  CHECK(contains(abort.error, "SIGABRT"));
  CHECK(contains(told("segfault").error, "SIGSEGV"));
}

TEST_CASE("a flood of output is cut, and does no harm") {
  const Told flood = told("flood");
  CHECK(flood.outcome == Outcome::ok);
  CHECK(flood.output.size() == 64 << 10);
  CHECK(told("flood_and_spin").outcome == Outcome::timed_out);
}

TEST_CASE("answers that are none, or half of one, are an early end") {
  CHECK(told("garbage").outcome == Outcome::ended_early);
  CHECK(told("no_json").outcome == Outcome::ended_early);
  CHECK(told("other_json").outcome == Outcome::ended_early);
  CHECK(told("other_status").outcome == Outcome::ended_early);
  CHECK(told("number_for_text").outcome == Outcome::ended_early);
  const Told half = told("half");
  CHECK(half.outcome == Outcome::ended_early);
  CHECK(contains(half.error, "exit(3)"));
  CHECK(told("half_and_spin").outcome == Outcome::timed_out);
}

TEST_CASE("an answer that comes twice is not taken for the next one") {
  WorkerClient client({ONEPASS_HOSTILE_WORKER});
  CHECK(client.run(call_of("twice"), {}, kLimit).outcome == Outcome::ok);
  CHECK(client.run(call_of("honest"), {}, kLimit).outcome == Outcome::ended_early);
  CHECK(client.run(call_of("honest"), {}, kLimit).outcome == Outcome::ok);
}

TEST_CASE("closed descriptors are an early end, at once") {
  const Told closed = told("close");
  CHECK(closed.outcome == Outcome::ended_early);
  CHECK(contains(closed.error, "closed"));
}

TEST_CASE("children that left the group are killed with the worker") {
  {
    WorkerClient client({ONEPASS_HOSTILE_WORKER});
    CHECK(client.run(call_of("leave_children"), {}, kLimit).outcome == Outcome::ok);
    // They hold the write end of the pipes, and must not keep us waiting.
    CHECK(client.run(call_of("exit"), {}, kLimit).outcome == Outcome::ended_early);
  }
  CHECK(process::children().empty());
}

TEST_CASE("a fork bomb is stopped before its deadline") {
  WorkerClient client({ONEPASS_HOSTILE_WORKER});
  const Run bomb = client.run(call_of("fork_bomb"), {}, 20.0);
  CHECK(bomb.outcome == Outcome::ended_early);
  CHECK(contains(bomb.error, "processes"));
  CHECK(client.run(call_of("honest"), {}, 5.0).outcome == Outcome::ok);
}

TEST_CASE("what is not the student's fault is the grader's") {
  WorkerClient missing({"/no/such/program"});
  CHECK(missing.run(call_of("honest"), {}, kLimit).outcome == Outcome::grader_fault);
  WorkerClient no_program({ONEPASS_SOURCE_DIR "/grader/setup.sh.missing"});
  CHECK(no_program.hello().outcome == Outcome::grader_fault);
  CHECK(told("unknown function").outcome == Outcome::grader_fault);
}

TEST_CASE("a worker writes no files" * doctest::skip(!has_landlock())) {
  CHECK(contains(told("write_file").error, "exit(7)"));
}
