// Whatever a worker does has an outcome of its own, in time, and the next honest call still works.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <utility>

#include "process/confinement.h"
#include "process/process_tree.h"
#include "verdict/worker/worker_client.h"

using namespace onepass::verdict;
namespace process = onepass::process;
namespace fs = std::filesystem;

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
  WorkerClient client(ONEPASS_HOSTILE_WORKER);
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

bool has_memory(long gigabytes) {
  return sysconf(_SC_AVPHYS_PAGES) * sysconf(_SC_PAGESIZE) > gigabytes << 30;
}

const process::Layers kLayers = process::layers();

/// Could the worker do it? It says so by its exit code.
bool could(const std::string& attempt) {
  const std::string error = told(attempt).error;
  CAPTURE(attempt);
  CAPTURE(error);
  REQUIRE((contains(error, "exit(7)") || contains(error, "exit(8)")));
  return contains(error, "exit(8)");
}

/// And an honest call is answered after it.
void check_hog_is_noticed(WorkerClient& client, const char* way, const char* size) {
  CAPTURE(way);
  const Run hog = client.run(call_of(way), {}, 20.0);
  CHECK(hog.outcome == Outcome::too_much_memory);
  CHECK(contains(hog.error, size));
  CHECK(client.run(call_of("honest"), {}, 5.0).outcome == Outcome::ok);
}

}  // namespace

TEST_CASE("a worker that spins is timed out") {
  const auto start = process::Clock::now();
  CHECK(told("spin").outcome == Outcome::timed_out);
  CHECK(process::Clock::now() - start < std::chrono::seconds(10));
}

TEST_CASE(
    "when the clock is over the simulator is asked where the kernel is, and may still answer") {
  CHECK(told("spin_until_asked").outcome == Outcome::ok);
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
  WorkerClient client(ONEPASS_HOSTILE_WORKER);
  CHECK(client.run(call_of("twice"), {}, kLimit).outcome == Outcome::ok);
  CHECK(client.run(call_of("honest"), {}, kLimit).outcome == Outcome::ended_early);
  CHECK(client.run(call_of("honest"), {}, kLimit).outcome == Outcome::ok);
}

TEST_CASE("closed descriptors are an early end, at once") {
  const Told closed = told("close");
  CHECK(closed.outcome == Outcome::ended_early);
  CHECK(contains(closed.error, "closed"));
}

TEST_CASE("more threads than a worker may have are noticed") {
  WorkerClient client(ONEPASS_HOSTILE_WORKER);
  const Run bomb = client.run(call_of("start_threads"), {}, 20.0);
  CHECK(bomb.outcome == Outcome::ended_early);
  CHECK(contains(bomb.error, "threads"));
  CHECK(client.run(call_of("honest"), {}, 5.0).outcome == Outcome::ok);
}

TEST_CASE("more memory than a worker may take is noticed") {
  WorkerClient client(ONEPASS_HOSTILE_WORKER, "cpu", 300'000'000);  // soon taken
  for (const char* way : {"take_memory", "take_memory_and_reply", "take_page_tables"}) {
    check_hog_is_noticed(client, way, "0.3 GB");
  }
}

// A virtual machine may be slow to get so much.
TEST_CASE("a worker may take 4.3 GB" *
          doctest::skip(std::getenv("ONEPASS_CHECK_ALL") == nullptr || !has_memory(8))) {
  WorkerClient client(ONEPASS_HOSTILE_WORKER);
  check_hog_is_noticed(client, "take_memory", "4.3 GB");
}

TEST_CASE("what is not the student's fault is the grader's") {
  WorkerClient missing("/no/such/program");
  CHECK(missing.run(call_of("honest"), {}, kLimit).outcome == Outcome::grader_fault);
  WorkerClient no_program(ONEPASS_SOURCE_DIR "/README.md");
  CHECK(no_program.hello().outcome == Outcome::grader_fault);
}

TEST_CASE("what the kernel takes for no program is the student's doing") {
  const fs::path made = fs::temp_directory_path() / fmt::format("onepass_no_program_{}", getpid());
  std::ifstream file(ONEPASS_HOSTILE_WORKER, std::ios::binary);
  const std::string worker(std::istreambuf_iterator<char>(file), {});
  const std::size_t loader = worker.find("/ld-linux");
  REQUIRE(loader != std::string::npos);
  const std::size_t end = worker.find('\0', loader);
  for (const auto& [at, changed] :
       {std::pair(end, 'x'), std::pair(end - 1, 'x'), std::pair(std::size_t{0}, 'x'),
        std::pair(std::size_t{18}, 'x')}) {
    std::string text = worker;
    text[at] = changed;
    std::ofstream(made, std::ios::binary) << text;
    fs::permissions(made, fs::perms::owner_all);
    const Reply hello = WorkerClient(made.string()).hello();
    CHECK(hello.outcome == Outcome::ended_early);
    CHECK(contains(hello.error, "cannot be run"));
  }
  fs::remove(made);
}

TEST_CASE("a worker that somebody else kills is no failure of the student's") {
  WorkerClient client(ONEPASS_HOSTILE_WORKER);
  REQUIRE(client.hello().outcome == Outcome::ok);
  for (const pid_t worker : process::children()) {
    kill(worker, SIGKILL);
  }
  CHECK(client.run(call_of("honest"), {}, 5.0).outcome == Outcome::ok);
}

TEST_CASE("a worker that stood still once is no failure of the student's") {
  WorkerClient client(ONEPASS_HOSTILE_WORKER);
  REQUIRE(client.hello().outcome == Outcome::ok);
  for (const pid_t worker : process::children()) {
    kill(worker, SIGSTOP);
  }
  CHECK(client.run(call_of("honest"), {}, kLimit).outcome == Outcome::ok);
}

TEST_CASE("a worker that is killed again and again is one") {
  std::atomic<bool> goes_on = true;
  std::thread killer([&] {
    while (goes_on) {
      for (const pid_t worker : process::children()) {
        kill(worker, SIGKILL);
      }
    }
  });
  WorkerClient client(ONEPASS_HOSTILE_WORKER);
  const Run run = client.run(call_of("spin"), {}, 5.0);
  goes_on = false;
  killer.join();
  CHECK(run.outcome == Outcome::crashed);
  CHECK(contains(run.error, "a fresh one"));
  CHECK(client.run(call_of("honest"), {}, 5.0).outcome == Outcome::ok);
}

TEST_CASE("a worker that cannot be loaded is no failure of the student's") {
  WorkerClient client(ONEPASS_UNLOADABLE_WORKER);
  const Reply hello = client.hello();
  CHECK(hello.outcome == Outcome::grader_fault);
  CHECK(contains(hello.error, "cannot be loaded"));
}

TEST_CASE("a refusal is a refusal, and another device a false reply") {
  CHECK(told("unknown function").outcome == Outcome::refused);
  CHECK(WorkerClient(ONEPASS_HOSTILE_WORKER, "gpu").hello().outcome == Outcome::ended_early);
}

TEST_CASE("a worker reads and writes no files of ours" * doctest::skip(kLayers.landlock == 0)) {
  for (const char* attempt : {"read before main", "read the parent's command",
                              "read the parent's pipes", "read the workbook", "write a file",
                              "write shared memory", "write itself", "signal the parent"}) {
    CHECK_FALSE(could(attempt));
  }
}

TEST_CASE("a worker does nothing but compute" * doctest::skip(!kLayers.system_calls)) {
  for (const char* attempt : {"cut a file",
                              "remove a file",
                              "change a mode",
                              "change a date",
                              "run a program",
                              "run itself",
                              "have children",
                              "have children of its own kind",
                              "signal the parent",
                              "signal all",
                              "kill itself unseen",
                              "kill itself by a limit",
                              "kill itself by a timer",
                              "kill itself by a mode",
                              "outlive the parent",
                              "limit the parent",
                              "trace",
                              "open TCP",
                              "open UDP",
                              "open a local socket",
                              "share memory",
                              "hide memory",
                              "have a namespace",
                              "have a ring"}) {
    CHECK_FALSE(could(attempt));
  }
}

TEST_CASE("a worker may do what honest code does, and knows nothing of who runs it") {
  for (const char* attempt :
       {"may start a thread", "may read libraries", "may write nothing", "may limit itself"}) {
    CHECK(could(attempt));
  }
  setenv("ONEPASS_TEST_SECRET", "secret", 1);
  CHECK_FALSE(could("read the environment"));
}
