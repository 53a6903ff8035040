// `onepass map` with the real simulator: every exercise can be drawn, and what a map says of a
// kernel is what its source does.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>

#include "driver/config.h"
#include "driver/files.h"
#include "driver/report.h"
#include "driver/skeleton.h"
#include "process/process.h"
#include "tests/corpus/corpus.h"

using namespace onepass::driver;
namespace fs = std::filesystem;

namespace {

struct Map {
  int code = 0;
  std::string output;
  Json data;  // null without a page
};

/// Draws an exercise of a submission.
Map draw(const std::string& exercise, const fs::path& submission,
         const std::vector<std::string>& options = {}) {
  const ScratchFolder scratch(fs::temp_directory_path());
  const fs::path page = scratch.path() / "map.html";
  std::vector<std::string> command = {
      ONEPASS_BINARY_DIR "/onepass", "map", exercise,     "--submission",
      submission.string(),           "-o",  page.string()};
  command.insert(command.end(), options.begin(), options.end());
  const onepass::process::Result result = onepass::process::run({command}, 120);
  Map map{result.code, result.output, nullptr};
  if (fs::exists(page)) {
    const std::string text = read_file(page);
    const std::string start = "id=\"data\">";
    const std::size_t from = text.find(start) + start.size();
    map.data = Json::parse(text.substr(from, text.find("</script>", from) - from));
  }
  return map;
}

const fs::path kSolutions = fs::path(ONEPASS_SOURCE_DIR) / "solutions";

/// Draws rmsnorm/forward, the solution with a change.
Map draw_changed(const std::string& before, const std::string& after,
                 const std::vector<std::string>& options = {}) {
  const ScratchFolder scratch(fs::temp_directory_path());
  const std::string solution = read_file(kSolutions / "01_rmsnorm/forward.cu");
  write_file(scratch.path() / "01_rmsnorm/forward.cu",
             onepass::corpus::replaced(solution, before, after));
  return draw("rmsnorm/forward", scratch.path(), options);
}

/// The sums of a member over the launches' lines that read or write `buffer`.
std::int64_t sum(const Map& map, const std::string& buffer, const char* type, const char* member) {
  std::int64_t result = 0;
  for (const Json& launch : map.data.at("launches")) {
    for (const Json& line : launch.at("lines")) {
      if (line.at("buffer") == buffer && line.at("type") == type) {
        result += line.at(member).get<std::int64_t>();
      }
    }
  }
  return result;
}

}  // namespace

TEST_CASE("every solution and every naive version can be drawn at its own shape") {
  const Config config = read_config(fs::path(ONEPASS_BINARY_DIR) / "onepass.json");
  for (const Chapter& chapter : config.chapters) {
    for (const Exercise& exercise : chapter.exercises) {
      for (const bool naive : {false, true}) {
        if (naive && exercise.naive.empty()) {
          continue;
        }
        INFO(exercise.id);
        const Map map =
            draw(exercise.id, kSolutions,
                 naive ? std::vector<std::string>{"--naive"} : std::vector<std::string>{});
        CHECK_MESSAGE(map.code == 0, map.output);
        REQUIRE(map.data.is_object());
        CHECK(map.data["findings"].empty());
        CHECK(map.data["naive"] == naive);
        std::size_t drawn = 0;
        for (const Json& launch : map.data["launches"]) {
          std::size_t requests = 0;
          for (const Json& line : launch["lines"]) {
            requests += line["requests"].get<std::size_t>();
          }
          CHECK(launch["requests"].size() == requests);  // small enough to be drawn as a whole
          drawn += requests;
        }
        CHECK(drawn > 0);
      }
    }
  }
}

TEST_CASE("the solution of rmsnorm/forward: x is read twice, y written once, nothing is wasted") {
  const Map map = draw("rmsnorm/forward", kSolutions);
  REQUIRE(map.data.is_object());
  CHECK(sum(map, "x", "read", "requests") == 2 * 4 * 256 / 32);
  CHECK(sum(map, "x", "read", "units") == 2 * 4 * 256 * 4 / 32);
  CHECK(sum(map, "x", "read", "bytes") == 2 * 4 * 256 * 4);
  const Json& x = map.data["buffers"][0];
  CHECK(x["name"] == "x");
  CHECK(x["is_input"] == true);
  CHECK(x["is_output"] == false);
  CHECK(sum(map, "y", "write", "units") == 4 * 256 * 4 / 32);
  CHECK(sum(map, "rstd", "write", "requests") == 4);
  CHECK(map.data["source"]["text"] == read_file(kSolutions / "01_rmsnorm/forward.cu"));
  const Map half = draw("rmsnorm/forward", kSolutions, {"--dtype", "fp16", "--rows", "2"});
  CHECK(sum(half, "x", "read", "units") == 2 * 2 * 256 * 2 / 32);
}

TEST_CASE("scratch is no tensor: nobody has to read or write it") {
  const Map map = draw("rmsnorm/backward_fast", kSolutions);
  REQUIRE(map.data.is_object());
  bool found = false;
  for (const Json& buffer : map.data["buffers"]) {
    const bool scratch = buffer["name"] == "scratch";
    found = found || scratch;
    CHECK((buffer["is_input"] == true || buffer["is_output"] == true) != scratch);
  }
  CHECK(found);
}

TEST_CASE("a thread that reads neighbouring columns: 8 times the sectors") {
  const Map map = draw_changed(
      "  for (int col = threadIdx.x; col < cols; col += kThreads) {\n"
      "    const float value = static_cast<float>(x_row[col]);",
      "  for (int col = 8 * threadIdx.x; col < min(cols, 8 * (int(threadIdx.x) + 1)); ++col) {\n"
      "    const float value = static_cast<float>(x_row[col]);",
      {"--cols", "2048"});
  REQUIRE(map.data.is_object());
  const std::int64_t pass = 4 * 2048 * 4 / 32;  // sectors of x
  CHECK(sum(map, "x", "read", "units") == 8 * pass + pass);
  CHECK(sum(map, "x", "read", "least_units") == 2 * pass);
}

TEST_CASE("a race is marked: its parties made requests that the page can find") {
  const Map map = draw_changed("  __syncthreads();\n", "");
  CHECK(map.code == 0);
  CHECK(map.output.find("Marked in it: partial[") != std::string::npos);
  REQUIRE(map.data.is_object());
  REQUIRE_FALSE(map.data["findings"].empty());
  const Json& finding = map.data["findings"][0];
  CHECK(finding["mistake"] == "missing-barrier");
  const Json& launch = map.data["launches"][0];
  CHECK(finding["kernel"] == launch["kernel"]);
  for (const Json& party : finding["parties"]) {
    bool found = false;
    for (const Json& request : launch["requests"]) {
      const Json& line = launch["lines"][request["line"].get<std::size_t>()];
      found = found || (line["file"] == party["file"] && line["line"] == party["line"] &&
                        line["buffer"] == finding["buffer"] && request["warp"] == party["warp"] &&
                        (request["lanes"].get<unsigned>() >> party["lane"].get<int>() & 1u) != 0);
    }
    CHECK(found);
  }
}

TEST_CASE("a kernel that is stopped is drawn up to there") {
  const Map map = draw_changed("y_row[col] = static_cast<T>(normalized",
                               "y_row[col + 1000000] = static_cast<T>(normalized");
  CHECK(map.code == 1);
  CHECK(map.output.find("did not come to its end (device error)") != std::string::npos);
  REQUIRE(map.data.is_object());
  CHECK(map.data["status"] == "device error");
  CHECK(sum(map, "x", "read", "requests") > 0);
}

TEST_CASE("code that ends the worker leaves nothing to draw") {
  const Map map = draw_changed("  if (rows == 0) {\n    return;", "  {\n    __builtin_trap();");
  CHECK(map.code == 1);
  CHECK(map.output.find("did not come to its end (crashed)") != std::string::npos);
  CHECK(map.data.is_null());
}

TEST_CASE("an untouched exercise has nothing to draw") {
  const fs::path file = "01_rmsnorm/forward.cu";
  const ScratchFolder scratch(fs::temp_directory_path());
  write_file(scratch.path() / file, skeleton_of(read_file(kSolutions / file), file.string()));
  const Map map = draw("rmsnorm/forward", scratch.path());
  CHECK(map.code == 1);
  CHECK(map.output.find("touches no memory: there is nothing to draw.") != std::string::npos);
  CHECK(map.data.is_null());
}

TEST_CASE("a shape that an exercise cannot have is refused with one that it can") {
  Map map = draw("rope/half_split", kSolutions, {"--cols", "600"});
  CHECK(map.code == 2);
  CHECK(map.output ==
        "The columns of rope/half_split are a multiple of 512 here: take --cols 1024.\n");
  map = draw("rmsnorm/forward", kSolutions, {"--rows", "0"});
  CHECK(map.code == 2);
  CHECK(map.output == "--rows takes a whole number from 1 to 2147483647, and not 0.\n");
  map = draw("rmsnorm/forward", kSolutions, {"--rows", "1000000", "--cols", "1000000"});
  CHECK(map.code == 2);
  CHECK(map.output.find("more than a map can show") != std::string::npos);
}
