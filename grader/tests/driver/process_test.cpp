// Programs that end, hang, crash, talk without end or leave children behind.
#include "driver/process.h"

#include <doctest/doctest.h>
#include <signal.h>

#include <chrono>
#include <string>

using namespace onepass::driver;
using End = ProcessResult::End;

namespace {
ProcessResult shell(const std::string& commands, ProcessLimits limits = {}) {
  return run_process({"/bin/sh", "-c", commands}, limits);
}
}  // namespace

TEST_CASE("exit status and output") {
  const ProcessResult result = shell("echo out; echo err >&2; exit 3");
  CHECK(result.end == End::exited);
  CHECK(result.code == 3);
  CHECK(result.output == "out\nerr\n");
  CHECK(result.describe() == "exited with 3");
}

TEST_CASE("a signal") {
  const ProcessResult result = shell("kill -SEGV $$");
  CHECK(result.end == End::signalled);
  CHECK(result.code == SIGSEGV);
}

TEST_CASE("a program that is not there") {
  CHECK(run_process({"/nowhere/program"}, {}).end == End::not_started);
}

TEST_CASE("the time limit ends the program and its children") {
  const auto start = std::chrono::steady_clock::now();
  const ProcessResult result = shell("trap '' TERM; sleep 60 & sleep 60", {0.2});
  CHECK(result.end == End::timed_out);
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(10));
}

TEST_CASE("a child left behind does not keep us waiting") {
  const auto start = std::chrono::steady_clock::now();
  CHECK(shell("sleep 60 & exit 0").succeeded());
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(10));
}

TEST_CASE("a flood of output is cut") {
  const ProcessResult result = shell("head -c 300000 /dev/zero", {60, 1000});
  CHECK(result.succeeded());
  CHECK(result.output.size() == 1000);
}

TEST_CASE("messages have a pipe of their own, whatever becomes of it") {
  std::string messages;
  const auto read = [&](const std::string& piece) {
    messages += piece;
    return true;
  };
  const std::string tell = std::string("> ") + kMessagePipe;
  const ProcessResult result = run_process(
      {"/bin/sh", "-c", "echo told " + tell + "; exec 3>&-; echo said; sleep 0.1"}, {}, read);
  CHECK(result.succeeded());
  CHECK(result.output == "said\n");
  CHECK(messages == "told\n");
  run_process({"/bin/sh", "-c", "head -c 300000 /dev/zero " + tell}, {}, read);
  CHECK(messages.size() == 300005);
}

TEST_CASE("who reads the messages can call time") {
  int calls = 0;
  const ProcessResult result = run_process({"/bin/sh", "-c", "sleep 60"}, {},
                                           [&](const std::string&) { return ++calls < 3; });
  CHECK(result.end == End::timed_out);
  CHECK(calls == 4);  // once more after the end
}
