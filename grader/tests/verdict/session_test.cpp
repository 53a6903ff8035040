// What a session makes of its calls, whatever the numbers in them.
#include "verdict/session/session.h"

#include <doctest/doctest.h>

#include <ctime>
#include <filesystem>

using namespace onepass::verdict;

namespace {

/// y = x, from a worker whose function does what its name says.
Case copying(const std::string& function) {
  Case call(function, Dtype::fp32);
  call.integer("rows", 1).integer("cols", 1);
  call.add({.name = "x", .rows = 1, .cols = 1, .values = Matrix(Dtype::fp32, 1, 1)});
  call.add({.name = "y", .role = Role::output, .rows = 1, .cols = 1});
  return call;
}

const Outputs kCopy = {[](const Case&) {
  return Expectation{"y", Field(1, 1, 0.0), Field(1, 1, 1e-6)};
}};

/// What a check of so many calls comes to, and how many of them it makes.
struct Checked {
  Session::Check check;
  int calls = 0;
};
Checked run_checks(const std::string& function, int most, Session::Settings settings) {
  Checked checked;
  settings.on_call = [&] { ++checked.calls; };
  Session session(settings);
  for (const char* name : {"first", "second"}) {
    session.begin_check(name);
    try {
      for (int i = 0; i < most; ++i) {
        session.expect(copying(function), kCopy);
      }
    } catch (const CheckFailed&) {
      break;
    }
  }
  checked.check = session.check();
  return checked;
}

Session::Settings settings_with(double check_limit) {
  Session::Settings settings;
  settings.exercise = "toy/copy";
  settings.worker = ONEPASS_HOSTILE_WORKER;
  settings.device = "cpu";
  settings.check_limit = check_limit;
  return settings;
}

}  // namespace

TEST_CASE("calls that each take little time may not take much all together") {
  const auto [check, calls] = run_checks("sleep", 20, settings_with(0.35));
  REQUIRE(check.failure);
  CHECK(check.failure->status == Status::timed_out);
  CHECK(check.failure->message ==
        "The calls of this check took more than 0.35 seconds by the clock, all together.");
  CHECK_FALSE(check.failure->mistake);
  CHECK(calls <= 4);
}

TEST_CASE("the time is that of one check, and each call is told") {
  const auto [check, calls] = run_checks("sleep", 4, settings_with(0.7));
  CHECK_FALSE(check.failure);
  CHECK(check.name == "second");
  CHECK(check.compared == 4);
  CHECK(calls == 8);
}

namespace {

namespace fs = std::filesystem;

// A program that says it is on a GPU.
struct GpuWorker {
  GpuWorker() {
    fs::copy_file(ONEPASS_HOSTILE_WORKER, program, fs::copy_options::overwrite_existing);
  }
  ~GpuWorker() { fs::remove(program); }
  Session::Settings settings() const {
    Session::Settings settings = settings_with(60);
    settings.worker = settings.reference = program;
    settings.device = "gpu";
    return settings;
  }
  const fs::path program = ONEPASS_HOSTILE_WORKER "_of_a_gpu";
};

}  // namespace

TEST_CASE("a GPU's worker is not started anew for a device that only the simulator can be") {
  const GpuWorker worker;
  Session session(worker.settings());
  session.begin_check("as it is");
  session.expect(copying("honest"), kCopy);
  REQUIRE(session.worker().has_answered());
  {
    const Session::FewMultiprocessors few(session);
    CHECK(session.worker().has_answered());
  }
  CHECK(session.worker().has_answered());
}

TEST_CASE("a GPU's memory that others had for a while is charged to nobody") {
  const GpuWorker worker;
  Session session(worker.settings());
  session.begin_check("busy");
  Case call = copying("busy");
  SUBCASE("during a call") {
    call.integer("until", std::time(nullptr) + 1);
    session.expect(call, kCopy);
  }
  SUBCASE("during two calls at the same time") {
    call.integer("until", 0).integer("until_beside", std::time(nullptr) + 1);
    const Session::SideBySide both(session);
    session.expect(call, kCopy);
    session.expect(call, kCopy);
  }
  CHECK_FALSE(session.check().failure);
}
