#include "driver/measure/measure_plot.h"

#include <fmt/format.h>

#include <algorithm>

#include "driver/figures.h"

namespace onepass::driver {
namespace {

struct Source {
  Figure figure;
  bool ceiling = false;  // or floor: what nobody can beat
};

std::vector<Source> sources(bool traffic, const std::string& with) {
  std::vector<Source> result;
  if (traffic) {
    result = {{{"naive", "/naive/requested_bytes", "elements"}},
              {{"yours", "/student/requested_bytes", "elements"}},
              {{"yours, distinct", "/student/distinct_bytes", "elements"}},
              {{"least", "/least_bytes", "elements"}, true}};
  } else {
    result = {
        {{"naive", "/naive_gbs"}}, {{"yours", "/student_gbs"}}, {{"copy", "/copy_gbs"}, true}};
  }
  if (!with.empty()) {
    result.push_back({traffic ? Figure{with, "/reference/requested_bytes", "elements"}
                              : Figure{with, "/reference_gbs"}});
  }
  return result;
}

bool all_have_one(const Json& events, const char* key) {
  return std::all_of(events.begin(), events.end(),
                     [&](const Json& event) { return event.at(key) == events.front().at(key); });
}

Panel panel_of(const std::vector<Json>& events, const char* x, bool traffic,
               const std::vector<Source>& all) {
  Panel panel;
  for (const Json& event : events) {
    panel.x.push_back(number_at(event, std::string("/") + x));
  }
  for (const Source& source : all) {
    Series series{source.figure.name, {}, {}, {}, source.ceiling};
    for (const Json& event : events) {
      series.y.push_back(value_of(event, source.figure));
      if (!traffic && source.figure.name == "yours") {
        const double billions = number_at(event, "/bytes") * 1e-6;  // bytes / ms to GB/s
        series.low.push_back(billions / number_at(event, "/student_ms/p80"));
        series.high.push_back(billions / number_at(event, "/student_ms/p20"));
      }
    }
    panel.series.push_back(series);
  }
  return panel;
}

}  // namespace

Plot plot_of(const Json& report, const std::string& with) {
  const bool traffic = report.at("bandwidth").empty();
  const Json& events = report.at(traffic ? "traffic" : "bandwidth");
  Plot plot;
  plot.title = report.at("exercise").get<std::string>();
  plot.subtitle = fmt::format("{}, seed {}{}", report.at("device").at("name").get<std::string>(),
                              report.at("seed").get<std::uint64_t>(),
                              traffic ? "" : "; the band around yours: 20th to 80th percentile");
  plot.y_label = traffic ? "bytes per element" : "effective bandwidth, GB/s";
  if (events.empty()) {
    return plot;
  }
  const bool over_rows = all_have_one(events, "cols") && !all_have_one(events, "rows");
  const char* const x = over_rows ? "rows" : "cols";
  const char* const fixed = over_rows ? "cols" : "rows";
  plot.x_label = x;
  std::vector<std::pair<std::string, std::vector<Json>>> groups;
  for (const Json& event : events) {
    const std::string title = fmt::format("{} {}, {}", event.at(fixed).get<std::int64_t>(), fixed,
                                          event.at("dtype").get<std::string>());
    const auto group = std::find_if(groups.begin(), groups.end(),
                                    [&](const auto& known) { return known.first == title; });
    if (group == groups.end()) {
      groups.push_back({title, {event}});
    } else {
      group->second.push_back(event);
    }
  }
  for (auto& [title, members] : groups) {
    std::sort(members.begin(), members.end(),
              [&](const Json& a, const Json& b) { return a.at(x) < b.at(x); });
    plot.panels.push_back(panel_of(members, x, traffic, sources(traffic, with)));
    plot.panels.back().title = title;
  }
  return plot;
}

}  // namespace onepass::driver
