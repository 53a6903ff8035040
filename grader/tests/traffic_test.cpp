// The simulator counts as an H200 does: each micro-kernel of hardware/micro.cu is run here, and its
// counts are compared with what hardware/compare.sh found on both devices.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "process/process.h"
#include "tests/hardware/comparison.h"

namespace {

using namespace onepass::hardware;

/// Where the two differ; docs/simulator_counts.md tells why.
const std::set<std::string> kDiffer = {"divergent_unrolled",  "kept_in_register",
                                       "async_16_to_strided", "cub_block_sum",
                                       "cub_block_scan",      "cub_transpose"};

std::vector<Comparison> micro_kernels_of_data(const std::string& subject) {
  std::ifstream stream(ONEPASS_SOURCE_DIR "/docs/data/traffic.json");
  std::vector<Comparison> found;
  for (const Comparison& one :
       nlohmann::json::parse(stream).at("launches").get<std::vector<Comparison>>()) {
    if (one.subject == subject && one.kernel.rfind("big_", 0) != 0) found.push_back(one);
  }
  return found;
}

void shell(const std::string& command) {
  const auto result = onepass::process::run({{"/bin/sh", "-c", command}}, 300);
  INFO(result.output);
  REQUIRE(result.describe() == "exited with 0");
}

std::vector<std::vector<Launch>> run_micro_kernels(const std::string& worker,
                                                   const std::string& group) {
  const std::string folder = ONEPASS_BINARY_DIR "/traffic_test";
  std::filesystem::create_directories(folder);
  const std::string request = folder + "/request", reply = folder + "/reply";
  // In quotes: the project may lie in a folder with a blank in its name.
  shell(fmt::format("'{}' cpu '{}' {}", ONEPASS_MICRO_REQUESTS, request, group));
  shell(fmt::format("'{}' 3< '{}' 4> '{}'", worker, request, reply));
  return read_replies(reply);
}

void count_as_before(const std::string& subject, const std::string& worker,
                     const std::string& group) {
  const std::vector<Comparison> known = micro_kernels_of_data(subject);
  const auto now = run_micro_kernels(worker, group);
  REQUIRE(known.size() >= 30);
  REQUIRE(now.size() == known.size());
  for (std::size_t i = 0; i < known.size(); ++i) {
    CAPTURE(known[i].kernel);
    REQUIRE(now[i].size() == 1);
    CHECK(nlohmann::json(now[i][0].counts) == nlohmann::json(known[i].simulator));
    CHECK(agrees(known[i]) == (kDiffer.count(known[i].kernel) == 0));
  }
}

TEST_CASE("micro-kernels: requests, sectors and wavefronts as an H200 counts them") {
  count_as_before("micro-kernels", ONEPASS_MICRO_WORKER, "small");
}

TEST_CASE("copies, clusters and collectives: likewise") {
  count_as_before("micro-kernels of fast kernels", ONEPASS_MICRO_FAST_WORKER, "fast");
}

TEST_CASE("the tables of the docs are those of the data") {
  shell("'" ONEPASS_COMPARE "' check '" ONEPASS_SOURCE_DIR
        "/docs/data/traffic.json' '" ONEPASS_SOURCE_DIR "/docs/simulator_tables.md'");
}

}  // namespace
