// `onepass measure` with the real simulator: the figures are those of the formulas, a wrong kernel
// gets none, and shapes that cannot be had are told.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>

#include "driver/files.h"
#include "driver/report.h"
#include "process/process.h"
#include "tests/corpus/corpus.h"

using namespace onepass::driver;
namespace fs = std::filesystem;

namespace {

const fs::path kSolutions = fs::path(ONEPASS_SOURCE_DIR) / "solutions";

struct Measured {
  int code = 0;
  std::string output;
  Json report;
};

Measured measure(const std::string& exercise, const fs::path& submission,
                 const std::vector<std::string>& options) {
  const ScratchFolder scratch(fs::temp_directory_path());
  const fs::path report = scratch.path() / "report.json";
  std::vector<std::string> command = {ONEPASS_BINARY_DIR "/onepass",
                                      "measure",
                                      exercise,
                                      "--submission",
                                      submission.string(),
                                      "--report",
                                      report.string(),
                                      "--device",
                                      "cpu"};
  command.insert(command.end(), options.begin(), options.end());
  const onepass::process::Result result = onepass::process::run({command}, 240);
  return {result.code, result.output, fs::exists(report) ? Json::parse(read_file(report)) : Json()};
}

/// Measures the solution of `file` with a change, and returns why that was refused.
std::string refusal_of(const std::string& exercise, const std::string& file,
                       const std::string& before, const std::string& after) {
  const ScratchFolder scratch(fs::temp_directory_path());
  write_file(scratch.path() / file,
             onepass::corpus::replaced(read_file(kSolutions / file), before, after));
  const Measured measured = measure(exercise, scratch.path(), {"--rows", "4", "--cols", "1000"});
  CHECK(measured.code == 1);
  CHECK(measured.report.at("traffic").empty());
  CHECK(measured.output.find("       4     1000   fp32   not measured: student: ") !=
        std::string::npos);
  return measured.report.at("measurement_failed").at(0).at("message").get<std::string>();
}

bool begins(const std::string& text, const std::string& with) {
  return text.compare(0, with.size(), with) == 0;
}

}  // namespace

TEST_CASE("every shape is measured: student, naive and another submission") {
  const Measured measured = measure("rmsnorm/forward_fast", kSolutions,
                                    {"--rows", "2,5", "--cols", "64:256:x4", "--dtype", "fp16,fp32",
                                     "--with", kSolutions.string()});
  CHECK(measured.code == 0);
  CHECK(measured.output.find("   fp16") != std::string::npos);
  const Json& traffic = measured.report.at("traffic");
  REQUIRE(traffic.size() == 8);
  for (const Json& entry : traffic) {
    const auto rows = entry.at("rows").get<std::int64_t>();
    const auto cols = entry.at("cols").get<std::int64_t>();
    const std::int64_t bytes = entry.at("dtype") == "fp16" ? 2 : 4;
    CHECK(entry.at("least_bytes") == 2 * rows * cols * bytes + cols * bytes + 4 * rows);
    const Json& yours = entry.at("student");
    CHECK(yours == entry.at("reference"));
    CHECK(yours.at("requested_bytes") >= yours.at("distinct_bytes"));
    CHECK(yours.at("distinct_bytes") >= entry.at("least_bytes"));
    CHECK(entry.at("naive").at("requested_bytes") > 2 * yours.at("requested_bytes").get<double>());
  }
}

TEST_CASE("a wrong kernel gets no figure but a sentence") {
  const std::string forward = "01_rmsnorm/forward.cu";
  CHECK(begins(refusal_of("rmsnorm/forward", forward, "value * value;", "value;"),
               "student: the call gave rstd[0] = "));
  CHECK(begins(refusal_of("rmsnorm/forward", forward, " * static_cast<float>(weight[col])", ""),
               "student: the call gave y["));
  CHECK(refusal_of("rmsnorm/forward", forward, "  __syncthreads();\n", "")
            .find("by two threads of a block with no __syncthreads()") != std::string::npos);
  CHECK(refusal_of("rmsnorm/forward", forward, "x_row = x + row * x_stride;",
                   "x_row = x + (row + 1) * x_stride;")
            .find("x[") != std::string::npos);
  CHECK(begins(refusal_of("rmsnorm/backward", "01_rmsnorm/backward.cu",
                          "dweight[col] = static_cast<T>(sum);",
                          "dweight[col] = static_cast<T>(2.0f * sum);"),
               "student: the call gave dweight["));
}

TEST_CASE("an exercise that is not started gets no figure either") {
  const ScratchFolder scratch(fs::temp_directory_path());
  const onepass::process::Result skeleton =
      onepass::process::run({{ONEPASS_BINARY_DIR "/onepass", "skeleton",
                              (kSolutions / "03_rope/interleaved.cu").string()}},
                            60);
  REQUIRE(skeleton.succeeded());
  write_file(scratch.path() / "03_rope/interleaved.cu", skeleton.output);
  const Measured measured =
      measure("rope/interleaved", scratch.path(), {"--rows", "3", "--cols", "256"});
  CHECK(measured.code == 1);
  CHECK(measured.report.at("traffic").empty());
}

TEST_CASE("shapes that cannot be had are left out, with a sentence") {
  Measured measured = measure("rope/half_split", kSolutions,
                              {"--rows", "2", "--cols", "512,600", "--dtype", "bf16"});
  CHECK(measured.code == 0);
  CHECK(measured.report.at("traffic").size() == 1);
  CHECK(measured.output.find(
            "       2      600   bf16   left out: The columns of rope/half_split are "
            "a multiple of 512 here: take --cols 1024.\n") != std::string::npos);
  measured = measure("rmsnorm/forward", kSolutions, {"--rows", "65536", "--cols", "65536"});
  CHECK(measured.code == 2);
  CHECK(measured.report.at("skipped").at(0).at("message") ==
        "The simulator runs every thread, and 65536 x 65536 fp32 is too much for it: take fewer "
        "rows.");
}
