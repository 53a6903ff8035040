// A workbook where there is nvcc and no GPU: what it says of a file that the simulator grades. Its
// nvcc is a shell script.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include "tests/driver/workbook.h"

using namespace onepass::driver;
using onepass::driver::test::has;
using onepass::driver::test::Workbook;
namespace fs = std::filesystem;

namespace {

// Its first work makes PTX, its second machine code. Whether an #include is allowed is looked up in
// between.
constexpr const char* kNvcc = R"sh(#!/bin/sh
case " $* " in *" -ptx "*) work=ptx;; *) work=cubin;; esac
while [ $# -gt 0 ]; do
  case "$1" in
    -MF) echo "binding.o: $file" > "$2";;
    -o) echo "$work" > "$2";;
    -DONEPASS_SUBMISSION=*) file=$(echo "$1" | sed 's/.*="//; s/"$//');;
  esac
  shift
done
)sh";

constexpr const char* kPtxas = R"sh(
[ $work = ptx ] || cat <<'SAYS'
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_ZN7onepass1kIfEEvPT_' for 'sm_90'
ptxas info    : Function properties for _ZN7onepass1kIfEEvPT_
    96 bytes stack frame, 48 bytes spill stores, 60 bytes spill loads
ptxas info    : Used 72 registers, used 1 barriers, 128 bytes smem
SAYS
)sh";

// Both checks pass, the second with a launch of so many threads.
std::string grader_of_launch(int threads, bool may_spill = true) {
  return fmt::format(
      R"sh(
printf '{{"event":"check","name":"answers 42","status":"passed","launches":[]}}\n' >> "$EVENTS"
launched='{{"function":"void onepass::k<float>(float*) [clone .isra.0]","written":"k<T>",'
launched="$launched"'"threads":{},"dynamic_shared_bytes":1024,"may_spill":{}}}'
[ "$EXERCISE" = toy/second ] ||
  printf '{{"event":"check","name":"answers always","status":"passed","launches":[%s]}}\n' \
    "$launched" >> "$EVENTS"
)sh",
      threads, may_spill);
}

struct Fixture {
  Workbook workbook;

  Fixture() {
    write_file(
        workbook.exercise("first"),
        "#include <toy.h>\n// k<T><<<1, 1024>>>(x), as it was\nint answer() { return 42; }\n");
    have_nvcc(kPtxas);
  }

  void have_nvcc(const std::string& does) const {
    const fs::path nvcc = workbook.root() / "build/nvcc";
    write_file(nvcc, kNvcc + does);
    chmod(nvcc.c_str(), 0755);
    Json config = workbook.report("onepass");
    config["gpu_code"] = config["cpu"];
    config["gpu_code"]["compiler"] = nvcc.string();
    config["gpu_code"]["rewriter"] = "";
    config["gpu_code"]["compile_flags"] = {"-ptx"};
    config["gpu_code"]["link_flags"] = {"-cubin"};
    config["gpu_code"]["allowed"].push_back((workbook.root() / "build").string());
    write_file(workbook.root() / "build/onepass.json", config.dump());
  }

  void launch(int threads, bool may_spill = true) const {
    workbook.set_grader(grader_of_launch(threads, may_spill) + Workbook::kEnd);
  }
  Json exercise(int number) const {
    return workbook.report("report/exercises")["exercises"][number];
  }
};

constexpr const char* kTitle = "Compiled for a GPU as well (nvcc, sm_90):\n";

}  // namespace

TEST_CASE_FIXTURE(Fixture, "what nvcc says of the kernels is in the report, after the verdict") {
  launch(640);
  const auto outcome = workbook.onepass("grade");
  INFO(outcome.output);
  CHECK(outcome.code == 0);
  CHECK(has(outcome.output, "Score: 9 of 9\nAll passed.\n"));
  CHECK(has(outcome.output,
            std::string(kTitle) +
                "  toy/first: 72 registers a thread, k<float> spills: 48 bytes a thread stored and "
                "60 loaded; registers leave room for 1 of 3 blocks of 640 threads on a "
                "multiprocessor\n"));
  CHECK(exercise(0)["gpu_code"] ==
        Json::parse(R"({"architecture": "sm_90", "refused": null, "kernels": [
            {"kernel": "k<float>", "registers": 72, "spill_store_bytes": 48, "spill_load_bytes": 60,
             "local_bytes": 96, "shared_bytes": 128, "launches": [{"threads": 640,
             "dynamic_shared_bytes": 1024, "blocks": 1, "blocks_but_for_registers": 3}]}]})"));
}

TEST_CASE_FIXTURE(Fixture, "a launch that registers do not allow is a failure, at its line") {
  launch(1024);
  const auto outcome = workbook.onepass("grade first");
  INFO(outcome.output);
  CHECK(has(outcome.output, "Score: 2 of 5\n"));
  CHECK(has(outcome.output,
            "too many resources requested for launch. nvcc gives each thread of "
            "k<float> 72 registers (sm_90), and in a block of 1024 threads each can "
            "have 64."));
  CHECK(has(outcome.output, "At exercises/01_toy/first.cu:2\n"));
  const Json checks = exercise(0)["checks"];
  CHECK(checks[0]["status"] == "passed");
  CHECK(checks[1]["status"] == "launch error");
  CHECK(checks[1]["diagnosis"] == "launch-failed");
  CHECK(exercise(0)["gpu_code"]["refused"] == "launch error");
  // From then on that is known before the verdict.
  const auto again = workbook.onepass("grade");
  INFO(again.output);
  CHECK(has(again.output, "toy/first     2 of 5   launch error   The first\n"));
  CHECK(has(again.output, "Score: 6 of 9\n"));
}

TEST_CASE_FIXTURE(Fixture, "spills cost a check that asks for none, and are told by name") {
  launch(640, false);
  const auto outcome = workbook.onepass("grade first");
  INFO(outcome.output);
  CHECK(has(outcome.output, "Score: 2 of 5\n"));
  CHECK(has(outcome.output,
            "nvcc gives each thread of k<float> 72 registers (sm_90), which do not hold what it "
            "keeps: 48 bytes a thread are stored to local memory"));
  const Json checks = exercise(0)["checks"];
  CHECK(checks[0]["status"] == "passed");
  CHECK(checks[1]["status"] == "failed");
  CHECK(checks[1]["diagnosis"] == "slower-than-a-copy");
  CHECK(checks[1].contains("replay"));
  // Nothing spilled, nothing said.
  std::string none = kPtxas;
  none.replace(none.find("48 bytes spill stores, 60"), 25, "0 bytes spill stores, 0");
  have_nvcc(none);
  CHECK(has(workbook.onepass("grade first").output, "Score: 5 of 5\n"));
}

TEST_CASE_FIXTURE(Fixture, "a file is compiled for a GPU once, and not where that is not wanted") {
  const std::string does = kPtxas;
  have_nvcc(does + "exit 1\n");
  const auto without = workbook.onepass("grade --no-nvcc");
  CHECK(without.code == 0);
  CHECK_FALSE(has(without.output, "nvcc"));
  CHECK_FALSE(exercise(0).contains("gpu_code"));
  have_nvcc(does + "exit 0\n");
  CHECK(workbook.onepass("grade").code == 0);
  const Json first = exercise(0)["gpu_code"];
  CHECK(first["kernels"].size() == 1);
  have_nvcc(does + "exit 1\n");  // a fault, if it were run
  const auto again = workbook.onepass("grade");
  CHECK(has(again.output, kTitle));
  CHECK_FALSE(has(again.output, "no fault of yours"));
  CHECK(exercise(0)["gpu_code"] == first);
}

TEST_CASE_FIXTURE(Fixture, "what nvcc alone refuses is a compile error, in its words") {
  have_nvcc("echo 'exercises/01_toy/first.cu(3): error: no such thing on a GPU'; exit 2\n");
  const auto outcome = workbook.onepass("grade first");
  INFO(outcome.output);
  CHECK(has(outcome.output,
            "exercises/01_toy/first.cu:3: no such thing on a GPU (Only nvcc says so"));
  CHECK(has(outcome.output, "Open next: exercises/01_toy/first.cu:3, which does not compile"));
  CHECK(exercise(0)["status"] == "compile error");
  CHECK(exercise(0)["score"] == 0);
}

TEST_CASE_FIXTURE(Fixture, "faults of nvcc are told once, and nobody's points") {
  for (const char* fault :
       {"echo 'nvcc fatal   : Unsupported gpu architecture'; exit 1\n",
        "echo '/usr/include/host_config.h(151): error: #error -- unsupported GNU "
        "version!'; exit 1\n",
        "kill -9 $$\n", "[ $work = ptx ] || kill -11 $$\n"}) {
    have_nvcc(fault);
    const auto outcome = workbook.onepass("grade");
    INFO(outcome.output);
    CHECK(outcome.code == 0);
    CHECK(has(outcome.output, "Score: 9 of 9\nAll passed.\n"));
    CHECK(has(outcome.output, "  Not all could be, which is no fault of yours:\n"));
    CHECK_FALSE(
        workbook.report("report/exercises")["gpu_code"]["fault"].get<std::string>().empty());
  }
  fs::remove(workbook.root() / "build/nvcc");
  const auto outcome = workbook.onepass("grade");
  CHECK(outcome.code == 0);
  CHECK(has(outcome.output, "There is no compiler at"));
  CHECK(has(outcome.output, "Score: 9 of 9\nAll passed.\n"));
}
