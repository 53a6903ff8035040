// Programs that end, hang, crash, talk without end or leave children behind.
#include "process/process.h"

#include <doctest/doctest.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "process/landlock.h"
#include "process/process_tree.h"

using namespace onepass::process;
using End = Result::End;

namespace {

Program shell(const std::string& commands) {
  return {{"/bin/sh", "-c", commands}};
}

bool in_time(Clock::time_point start) {
  return Clock::now() - start < std::chrono::seconds(10);
}

std::string read_all(Process& process, std::size_t pipe) {
  std::string text;
  char piece[4096];
  ssize_t length = 1;
  while (length > 0 && process.wait(process.pipe(pipe), POLLIN, after(10)) == Waited::ready) {
    length = read(process.pipe(pipe), piece, sizeof piece);
    text.append(piece, static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
  }
  return text;
}

/// What shells and the programs that they start need.
Allowance system_programs() {
  Allowance allowance;
  for (const char* path : {"/usr", "/bin", "/lib", "/lib64", "/etc/ld.so.cache"}) {
    allowance.paths.push_back({path, right::read | right::execute});
  }
  allowance.paths.push_back({"/dev/null", right::read | right::modify});
  allowance.calls = SystemCalls::any;
  allowance.variables = {"PATH"};
  return allowance;
}

}  // namespace

TEST_CASE("exit status and output") {
  const Result result = run(shell("echo out; echo err >&2; exit 3"), 60);
  CHECK(result.end == End::exited);
  CHECK(result.code == 3);
  CHECK(result.output == "out\nerr\n");
  CHECK(result.describe() == "exited with 3");
}

TEST_CASE("a signal") {
  const Result result = run(shell("kill -SEGV $$"), 60);
  CHECK(result.end == End::signalled);
  CHECK(result.code == SIGSEGV);
}

TEST_CASE("a program that is not there") {
  const Result result = run({{"/nowhere/program"}}, 60);
  CHECK(result.end == End::not_started);
  CHECK(result.describe() == "could not be started (No such file or directory)");
  CHECK(run({}, 60).end == End::not_started);
  Process process({{"/nowhere/program"}, {Pipe::from_program}});
  CHECK(process.start_error() == ENOENT);
  CHECK(process.wait(process.pipe(0), POLLIN, after(60)) == Waited::exited);
}

TEST_CASE("the time limit ends the program and its children") {
  const auto start = Clock::now();
  CHECK(run(shell("trap '' TERM; sleep 60 & sleep 60"), 0.2).end == End::timed_out);
  CHECK(in_time(start));
  CHECK(children().empty());
}

TEST_CASE("a program that is told to end may tidy up") {
  CHECK(run(shell("trap 'echo tidy; exit' TERM; sleep 60 & wait"), 0.2).output == "tidy\n");
}

TEST_CASE("nothing is left of a program, and nobody waits for what it leaves behind") {
  const auto start = Clock::now();
  CHECK(run(shell("sleep 60 & exit 0"), 60).succeeded());
  CHECK(run(shell("setsid sleep 60 & setsid -f sleep 60; exit 0"), 60).succeeded());
  CHECK(in_time(start));
  CHECK(children().empty());
}

TEST_CASE("a child that does not go when it is killed is not waited for") {
  // It does not go to its parent as long as it is traced.
  int told[2], go[2];
  REQUIRE((pipe(told) == 0 && pipe(go) == 0));
  const pid_t parent = fork();
  if (parent == 0) {
    const pid_t child = fork();
    if (child == 0) {
      pause();
    }
    char start;
    const bool is_told = write(told[1], &child, sizeof child) == sizeof child;
    const bool goes = is_told && read(go[0], &start, 1) == 1;
    kill_children_except({});
    _exit(goes ? 0 : 1);
  }
  pid_t child = 0;
  REQUIRE(read(told[0], &child, sizeof child) == sizeof child);
  const bool is_traced = ptrace(PTRACE_SEIZE, child, nullptr, nullptr) == 0;
  if (!is_traced) {
    MESSAGE("not tried: this machine lets nobody trace a child");
  }
  const auto start = Clock::now();
  CHECK(write(go[1], "", 1) == 1);
  int status = -1;
  CHECK(waitpid(parent, &status, 0) == parent);
  CHECK(status == 0);
  CHECK(Clock::now() - start < std::chrono::seconds(5));
  if (is_traced) {
    CHECK(waitpid(child, nullptr, __WALL) == child);
  }
  for (const int end : {told[0], told[1], go[0], go[1]}) {
    close(end);
  }
  CHECK(children().empty());
}

TEST_CASE("programs that run at the same time are left alone by the end of one") {
  Result slow;
  std::thread other([&] { slow = run(shell("sleep 0.5; echo done"), 60); });
  for (int i = 0; i < 20; ++i) {
    CHECK(run(shell("setsid -f sleep 60"), 60).succeeded());
  }
  other.join();
  CHECK(slow.succeeded());
  CHECK(slow.output == "done\n");
}

TEST_CASE("a flood of output is cut") {
  Program flood = shell("head -c 300000 /dev/zero");
  flood.most_output = 1000;
  const Result result = run(flood, 60);
  CHECK(result.succeeded());
  CHECK(result.output.size() == 1000);
}

TEST_CASE("a program has its pipes and no other descriptors") {
  Program told = shell("read word <&3; echo \"$word back\" >&4; exec 4>&-; ls /proc/self/fd");
  told.pipes = {Pipe::to_program, Pipe::from_program};
  Process process(told);
  REQUIRE(write(process.pipe(0), "there\n", 6) == 6);
  CHECK(read_all(process, 1) == "there back\n");
  const Result result = process.end(process.wait_for_exit(after(10)));
  CHECK(result.succeeded());
  CHECK(result.output == "0\n1\n2\n3\n4\n");  // ls has /proc/self/fd open itself, as 4
}

TEST_CASE("a program that cannot have its pipes is not started") {
  rlimit before = {};
  getrlimit(RLIMIT_NOFILE, &before);
  const int next = dup(0);
  close(next);
  for (int more = 1; more < 24; ++more) {
    const rlimit few = {static_cast<rlim_t>(next + more), before.rlim_max};
    setrlimit(RLIMIT_NOFILE, &few);
    Program program = shell("echo there >&3");
    program.pipes = {Pipe::from_program, Pipe::to_program};
    const Result result = run(program, 60);
    CAPTURE(more);
    CHECK((result.succeeded() || result.end == End::not_started));
  }
  setrlimit(RLIMIT_NOFILE, &before);
}

TEST_CASE("a rule that cannot be made is not left out without a word") {
  const std::vector<PathRule> rules = {{"/usr", right::read}, {"/no/such", right::read}};
  rlimit before = {};
  getrlimit(RLIMIT_NOFILE, &before);
  const int next = dup(0);
  close(next);
  const rlimit one_more = {static_cast<rlim_t>(next + 1), before.rlim_max};
  CHECK_NOTHROW(Landlock{rules});
  setrlimit(RLIMIT_NOFILE, &one_more);
  if (landlock_version() > 0) {
    CHECK_THROWS_AS(Landlock{rules}, std::system_error);
  }
  setrlimit(RLIMIT_NOFILE, &before);
}

TEST_CASE("all that an ended program wrote can be read") {
  Program told = shell("head -c 50000 /dev/zero >&3");
  told.pipes = {Pipe::from_program};
  Process process(told);
  process.wait_for_exit(after(10));
  CHECK(read_all(process, 0).size() == 50000);
}

TEST_CASE("more processes than a program may have are noticed") {
  Program bomb = shell("for i in $(seq 700); do sleep 60 & done; wait");
  bomb.most_tasks = 50;
  Process process(bomb);
  CHECK(process.wait_for_exit(after(60)) == Waited::too_many_tasks);
  process.kill();
  CHECK(children().empty());
}

TEST_CASE("more memory than a program may take is noticed") {
  Process process(shell("x=$(head -c 300000000 /dev/zero | tr '\\0' x); sleep 60"));
  process.limit_memory(100 << 20);
  CHECK(process.wait_for_exit(after(60)) == Waited::too_much_memory);
}

TEST_CASE("what a program took is known after its end") {
  Process process(shell("x=$(head -c 30000000 /dev/zero | tr '\\0' x); exit 3"));
  REQUIRE(process.wait_for_exit(after(60)) == Waited::exited);
  CHECK(process.exit()->memory > 20 << 20);
  CHECK(process.exit()->cpu_seconds > 0);
}

TEST_CASE("an allowance names limits and variables; there are no others") {
  setenv("ONEPASS_TEST_KEPT", "kept", 1);
  setenv("ONEPASS_TEST_LOST", "lost", 1);
  Program program = shell("echo $ONEPASS_TEST_KEPT$ONEPASS_TEST_LOST; ulimit -n; ulimit -c");
  program.allowance = system_programs();
  program.allowance->variables.push_back("ONEPASS_TEST_K*");
  program.allowance->limits = {{RLIMIT_NOFILE, 50}, {RLIMIT_CORE, 0}};
  CHECK(run(program, 60).output == "kept\n50\n0\n");
}

TEST_CASE("its own part of /proc is a program's, as CUDA's driver needs it, and no other is") {
  Program program = shell(
      "read before < /proc/$$/comm; echo named > /proc/$$/task/$$/comm; read after < /proc/$$/comm;"
      "echo $before $after; read other < /proc/$PPID/comm && echo $other");
  program.allowance = system_programs();
  program.allowance->own_proc = right::read | right::modify;
  program.allowance->calls = SystemCalls::of_a_gpu_driver;
  const std::string output = run(program, 60).output;
  CHECK(output.rfind("sh named\n", 0) == 0);
  CHECK((landlock_version() == 0 || output.find("denied") != std::string::npos));
}

TEST_CASE("what is missing is said") {
  CHECK(gaps({7, true}).empty());
  CHECK(gaps({1, true}).empty());
  CHECK(gaps({0, true}).size() == 1);
  CHECK(gaps({7, false}).size() == 1);
  CHECK(gaps({0, false}).size() == 2);
}

TEST_CASE("a variable of the environment is given anew, once") {
  setenv("ONEPASS_TRIED", "inherited", 1);
  Program program = shell("env | grep ^ONEPASS_TRIED");
  CHECK(run(program, 10).output == "ONEPASS_TRIED=inherited\n");
  program.environment = {"ONEPASS_TRIED=given"};
  CHECK(run(program, 10).output == "ONEPASS_TRIED=given\n");
  unsetenv("ONEPASS_TRIED");
}

TEST_CASE("an allowance names paths: a program reaches these and no others") {
  if (landlock_version() == 0) {
    MESSAGE("no Landlock here");
    return;
  }
  char folder[] = "/tmp/onepass-XXXXXX";
  REQUIRE(mkdtemp(folder) != nullptr);
  const std::string own = folder;
  Allowance allowance = system_programs();
  allowance.paths.push_back({own, right::read | right::list | right::modify | right::create});
  const auto tried = [&](const std::string& command) {
    Program program = shell(command);
    program.allowance = allowance;
    return run(program, 10).succeeded();
  };
  CHECK(tried("echo 1 > " + own + "/a && mv " + own + "/a " + own + "/b && rm " + own + "/b"));
  CHECK(tried("cat /dev/null > /dev/null"));
  CHECK_FALSE(tried("head -c 1 /dev/zero"));
  CHECK_FALSE(tried("cat /etc/passwd"));
  CHECK_FALSE(tried("ls /tmp"));
  CHECK_FALSE(tried("echo 1 > /usr/onepass-tried"));
  if (landlock_version() >= 6) {
    CHECK_FALSE(tried("kill -0 " + std::to_string(getpid())));
  }
  rmdir(folder);
}
