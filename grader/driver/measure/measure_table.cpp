#include "driver/measure/measure_table.h"

#include <fmt/format.h>

#include <algorithm>

namespace onepass::driver {
namespace {

constexpr std::size_t kShapeWidth = 9;

std::string shape_cells(const std::string& rows, const std::string& cols,
                        const std::string& dtype) {
  return fmt::format("{:>{}}{:>{}}{:>7}", rows, kShapeWidth, cols, kShapeWidth, dtype);
}

}  // namespace

MeasureTable::MeasureTable(Device device, const std::string& with) {
  if (device == Device::cpu) {
    title_ = kTrafficTitle;
    for (const Figure& figure : traffic_figures(with)) {
      columns_.push_back({"", 10, figure});
    }
    columns_.back().width += with.empty() ? 0 : 2;
    return;
  }
  title_ =
      "Times of a call (median, and of yours the 20th and 80th percentile), and effective\n"
      "bandwidth (least bytes / median time):";
  columns_ = {{"ms", 10, {"naive", "/naive_ms/median", "", 4}},
              {"", 9, {"yours", "/student_ms/median", "", 4}},
              {"", 9, {"20 %", "/student_ms/p20", "", 4}},
              {"", 9, {"80 %", "/student_ms/p80", "", 4}},
              {"naive", 9, {"/ yours", "/naive_ms/median", "/student_ms/median", 2}},
              {"GB/s", 8, {"naive", "/naive_gbs"}},
              {"", 7, {"yours", "/student_gbs"}},
              {"", 7, {"copy", "/copy_gbs"}},
              {"% of", 6, {"copy", "/student_gbs", "/copy_gbs", 0, 100}}};
  if (!with.empty()) {
    columns_.push_back({"GB/s", 12, {with, "/reference_gbs"}});
  }
}

std::string MeasureTable::header() const {
  std::string groups = shape_cells("", "", "");
  std::string names = shape_cells("rows", "cols", "dtype");
  for (const Column& column : columns_) {
    groups += fmt::format("{:>{}}", column.group, column.width);
    names += fmt::format("{:>{}}", column.figure.name, column.width);
  }
  groups.erase(groups.find_last_not_of(' ') + 1);
  return fmt::format("{}\n{}{}\n", title_, groups.empty() ? "" : groups + "\n", names);
}

std::string MeasureTable::row(const Json& event) {
  std::string text =
      shape_cells(fmt::format("{}", event.value("rows", 0)),
                  fmt::format("{}", event.value("cols", 0)), event.value("dtype", "-"));
  if (event.contains("message")) {  // its first line; the report has all of them
    const std::string message = event.at("message").get<std::string>();
    return fmt::format("{}   {}: {}\n", text,
                       event.at("event") == "skipped" ? "left out" : "not measured",
                       message.substr(0, message.find('\n')));
  }
  for (const Column& column : columns_) {
    text += fmt::format("{:>{}}", figure_text(event, column.figure), column.width);
  }
  if (const std::string note = event.value("note", ""); !note.empty()) {
    const auto known = std::find(notes_.begin(), notes_.end(), note);
    text += fmt::format("  ({})", known - notes_.begin() + 1);
    if (known == notes_.end()) {
      notes_.push_back(note);
    }
  }
  return text + "\n";
}

std::string MeasureTable::notes() const {
  std::string text;
  for (std::size_t i = 0; i < notes_.size(); ++i) {
    text += fmt::format("  ({}) {}\n", i + 1, notes_[i]);
  }
  return text;
}

}  // namespace onepass::driver
