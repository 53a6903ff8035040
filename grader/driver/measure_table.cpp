#include "driver/measure_table.h"

#include <fmt/format.h>

#include <algorithm>

namespace onepass::driver {
namespace {

constexpr std::size_t kShapeWidth = 9;

// The number at a place, or 0 where there is none.
double number_at(const Json& event, const std::string& place) {
  const Json::json_pointer pointer(place);
  return event.contains(pointer) && event.at(pointer).is_number() ? event.at(pointer).get<double>()
                                                                  : 0.0;
}

std::string shape_cells(const std::string& rows, const std::string& cols,
                        const std::string& dtype) {
  return fmt::format("{:>{}}{:>{}}{:>7}", rows, kShapeWidth, cols, kShapeWidth, dtype);
}

}  // namespace

MeasureTable::MeasureTable(Device device, const std::string& with) {
  if (device == Device::cpu) {
    title_ = "Global memory traffic, bytes per element, in sectors of 32 bytes:";
    columns_ = {{"", "least", 10, "/least_bytes", "elements", 2, 1},
                {"", "yours", 10, "/student/requested_bytes", "elements", 2, 1},
                {"", "distinct", 10, "/student/distinct_bytes", "elements", 2, 1},
                {"", "naive", 10, "/naive/requested_bytes", "elements", 2, 1}};
    if (!with.empty()) {
      columns_.push_back({"", with, 12, "/reference/requested_bytes", "elements", 2, 1});
    }
    return;
  }
  title_ =
      "Times of a call (median, and of yours the 20th and 80th percentile), and effective\n"
      "bandwidth (least bytes / median time):";
  columns_ = {{"ms", "naive", 10, "/naive_ms/median", "", 4, 1},
              {"", "yours", 9, "/student_ms/median", "", 4, 1},
              {"", "20 %", 9, "/student_ms/p20", "", 4, 1},
              {"", "80 %", 9, "/student_ms/p80", "", 4, 1},
              {"naive", "/ yours", 9, "/naive_ms/median", "/student_ms/median", 2, 1},
              {"GB/s", "naive", 8, "/naive_gbs", "", 0, 1},
              {"", "yours", 7, "/student_gbs", "", 0, 1},
              {"", "copy", 7, "/copy_gbs", "", 0, 1},
              {"% of", "copy", 6, "/student_gbs", "/copy_gbs", 0, 100}};
  if (!with.empty()) {
    columns_.push_back({"GB/s", with, 12, "/reference_gbs", "", 0, 1});
  }
}

std::string MeasureTable::header() const {
  std::string groups = shape_cells("", "", "");
  std::string names = shape_cells("rows", "cols", "dtype");
  for (const Column& column : columns_) {
    groups += fmt::format("{:>{}}", column.group, column.width);
    names += fmt::format("{:>{}}", column.name, column.width);
  }
  groups.erase(groups.find_last_not_of(' ') + 1);
  return fmt::format("{}\n{}{}\n", title_, groups.empty() ? "" : groups + "\n", names);
}

std::string MeasureTable::cell(const Column& column, const Json& event) const {
  double value = number_at(event, column.figure) * column.factor;
  if (column.divisor == "elements") {
    value /= number_at(event, "/rows") * number_at(event, "/cols");
  } else if (!column.divisor.empty()) {
    const double divisor = number_at(event, column.divisor);
    value = divisor > 0 ? value / divisor : 0.0;
  }
  return value > 0 ? fmt::format("{:.{}f}", value, column.decimals) : "-";
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
    text += fmt::format("{:>{}}", cell(column, event), column.width);
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
