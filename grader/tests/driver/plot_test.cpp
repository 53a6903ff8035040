// Plots: what becomes of figures, and that the picture is as the golden file shows. To accept a new
// look: ONEPASS_ACCEPT=1 build/bin/driver_test, then look at golden/plot.svg in a browser.
#include "driver/measure/plot.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <regex>

#include "driver/files.h"
#include "driver/measure/measure_plot.h"

using namespace onepass::driver;

namespace {

/// Is every element closed, by the right name and in order? (Our writer leaves no comments, and no
/// < or > in attributes.)
bool is_well_formed(const std::string& text) {
  static const std::regex kTag("<(/?)([a-z]+)[^<>]*?(/?)>");
  std::vector<std::string> open;
  bool rooted = false;
  for (std::sregex_iterator tag(text.begin(), text.end(), kTag), end; tag != end; ++tag) {
    const std::string name = (*tag)[2];
    if ((*tag)[1].length() > 0) {
      if (open.empty() || open.back() != name) {
        return false;
      }
      open.pop_back();
    } else if ((*tag)[3].length() == 0) {
      rooted = rooted || !open.empty() || name == "svg";
      open.push_back(name);
    }
  }
  const std::string rest = std::regex_replace(text, kTag, "");
  return rooted && open.empty() && rest.find('<') == std::string::npos;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

Json statistics(double median) {
  return {{"median", median}, {"p20", median / 1.1}, {"p80", median * 1.1}};
}

Json timed(int rows, int cols, const char* dtype) {
  const double bytes = 4e6 * cols / 1024;
  return {{"rows", rows},
          {"cols", cols},
          {"dtype", dtype},
          {"bytes", bytes},
          {"naive_gbs", 320},
          {"student_gbs", 2000},
          {"copy_gbs", 3000},
          {"reference_gbs", nullptr},
          {"student_ms", statistics(bytes / 2000 * 1e-6)}};
}

Json report(const Json& bandwidth) {
  return {{"exercise", "toy/<first>"},
          {"device", {{"kind", "gpu"}, {"name", "GPU & more"}}},
          {"seed", 3},
          {"traffic", Json::array()},
          {"bandwidth", bandwidth}};
}

}  // namespace

TEST_CASE("a plot of bandwidth over the columns, in the order of their size") {
  const Plot plot = plot_of(
      report({timed(64, 2048, "fp16"), timed(64, 1024, "fp16"), timed(64, 1024, "fp32")}), "");
  CHECK(plot.x_label == "cols");
  CHECK(plot.y_label == "effective bandwidth, GB/s");
  REQUIRE(plot.panels.size() == 2);
  const Panel& panel = plot.panels[0];
  CHECK(panel.title == "64 rows, fp16");
  CHECK(plot.panels[1].title == "64 rows, fp32");
  CHECK(panel.x == std::vector<double>{1024, 2048});
  REQUIRE(panel.series.size() == 3);
  CHECK(panel.series[0].name == "naive");
  CHECK(panel.series[1].name == "yours");
  CHECK(panel.series[2].name == "copy");
  CHECK(panel.series[1].y == std::vector<double>{2000, 2000});
  CHECK(panel.series[1].low[0] == doctest::Approx(2000 / 1.1));
  CHECK(panel.series[1].high[1] == doctest::Approx(2000 * 1.1));
  CHECK(panel.series[0].low.empty());
}

TEST_CASE("over the rows where only they vary, and with another submission") {
  const Plot plot = plot_of(report({timed(64, 1024, "fp16"), timed(128, 1024, "fp16")}), "mine");
  CHECK(plot.x_label == "rows");
  REQUIRE(plot.panels.size() == 1);
  CHECK(plot.panels[0].title == "1024 cols, fp16");
  CHECK(plot.panels[0].x == std::vector<double>{64, 128});
  CHECK(plot.panels[0].series[3].name == "mine");
  CHECK(plot_of(report(Json::array()), "").panels.empty());
}

TEST_CASE("a plot looks as the golden file shows, and is well-formed") {
  Json events;
  for (const int cols : {256, 512, 1024, 2048, 4096, 8192}) {
    events.push_back(timed(1024, cols, "fp16"));
    events.back()["copy_gbs"] = 1000 + cols / 3;
    events.back()["student_gbs"] = 800 + cols / 4;
    events.back()["student_ms"] =
        statistics(events.back()["bytes"].get<double>() / (800 + cols / 4) * 1e-6);
  }
  const std::string text = svg(plot_of(report(events), ""));
  const std::filesystem::path golden =
      std::filesystem::path(ONEPASS_SOURCE_DIR) / "grader/tests/driver/golden/plot.svg";
  if (std::getenv("ONEPASS_ACCEPT") != nullptr) {
    write_file(golden, text);
  }
  CHECK(text == read_file(golden));
  CHECK(is_well_formed(text));
  CHECK(count(text, "<polyline") == 3);
  CHECK(count(text, "<polygon class=\"band") == 1);
  CHECK(count(text, "<circle") == 12);  // the ceiling has no marks
  CHECK(count(text, "toy/&lt;first&gt;") == 2);
  CHECK(count(text, "GPU &amp; more") == 1);
  CHECK_FALSE(is_well_formed(text + "</svg>"));
  CHECK_FALSE(is_well_formed(text.substr(0, text.size() / 2)));
}

TEST_CASE("one point is a plot too") {
  const std::string text = svg(plot_of(report(Json::array({timed(64, 1024, "fp16")})), ""));
  CHECK(is_well_formed(text));
  CHECK(text.find("nan") == std::string::npos);
  CHECK(text.find("inf") == std::string::npos);
}
