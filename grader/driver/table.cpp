#include "driver/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "driver/figures.h"

namespace onepass::driver {
namespace {

using Row = std::vector<std::string>;

// Columns as wide as their widest cell: the first `left` ones to the left, all others to the right.
// The first row is a heading; nothing if there is no other.
std::string laid_out(const std::string& title, const std::vector<Row>& rows, std::size_t left = 1) {
  if (rows.size() == 1) {
    return "";
  }
  std::vector<std::size_t> widths(rows.front().size());
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  std::string text = fmt::format("\n{}\n", title);
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      text += i < left ? fmt::format("  {:<{}}", row[i], widths[i])
                       : fmt::format("  {:>{}}", row[i], widths[i]);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    text += "\n";
  }
  return text;
}

Row shape(const Json& exercise, const Json& entry) {
  return {exercise["id"].get<std::string>(), figure_text(entry, {"", "/rows"}),
          figure_text(entry, {"", "/cols"}), entry.value("dtype", "-")};
}

// A heading, and a row for each entry under `kind` of each exercise.
std::vector<Row> rows_of(const Json& report, const char* kind, const std::vector<Figure>& figures) {
  std::vector<Row> rows = {{"", "rows", "cols", "dtype"}};
  for (const Figure& figure : figures) {
    rows[0].push_back(figure.name);
  }
  for (const Json& exercise : report["exercises"]) {
    for (const Json& entry : exercise[kind]) {
      rows.push_back(shape(exercise, entry));
      for (const Figure& figure : figures) {
        rows.back().push_back(figure_text(entry, figure));
      }
    }
  }
  return rows;
}

}  // namespace

std::string place(const Json& line) {
  const std::string file = std::filesystem::path(line.value("file", "")).filename().string();
  const int caller = line.value("called_from", 0);
  return fmt::format("{}:{}{}", file.empty() ? "?" : file, line.value("line", 0),
                     caller > 0 ? fmt::format(" (called from {})", caller) : "");
}

std::string traffic_table(const Json& report) {
  return laid_out(kTrafficTitle, rows_of(report, "traffic", traffic_figures("solution")));
}

std::string lines_table(const Json& exercise, const Json& entry) {
  std::vector<Row> rows = {{"", "", "requests", "moved by each", "least", "bytes used"}};
  for (const Json& line : entry.value("lines", Json::array())) {
    const bool is_shared = line.value("space", "") == "shared";
    const double unit = is_shared ? 128 : 32;  // bytes
    rows.push_back({place(line), line.value("action", ""), figure_text(line, {"", "/requests"}),
                    figure_text(line, {"", "/units", "/requests", 1}) +
                        (is_shared ? " wavefronts" : " sectors"),
                    figure_text(line, {"", "/least_units", "/requests", 1}),
                    figure_text(line, {"", "/bytes", "/units", 0, 100 / unit}) + " %"});
  }
  const Row what = shape(exercise, entry);
  return laid_out(fmt::format("The lines of {}, {} x {} {}, and the requests of their warps:",
                              what[0], what[1], what[2], what[3]),
                  rows, 2);
}

std::string bandwidth_table(const Json& report) {
  std::vector<Row> rows = rows_of(report, "bandwidth",
                                  {{"naive", "/naive_gbs"},
                                   {"yours", "/student_gbs"},
                                   {"copy", "/copy_gbs"},
                                   {"of copy", "/student_gbs", "/copy_gbs", 0, 100}});
  std::string notes;
  std::size_t i = 1;  // behind the heading
  for (const Json& exercise : report["exercises"]) {
    for (const Json& entry : exercise["bandwidth"]) {
      Row& row = rows[i++];
      row.back() += row.back() == "-" ? "" : " %";
      if (const std::string note = entry.value("note", ""); !note.empty()) {
        notes += fmt::format("  {} {} x {} {}: {}\n", row[0], row[1], row[2], row[3], note);
      }
    }
  }
  return laid_out("Effective bandwidth, GB/s (least bytes / median time):", rows) + notes;
}

std::string measurement_notes(const Json& report) {
  std::string text;
  for (const Json& exercise : report["exercises"]) {
    for (const Json& note : exercise.value("notes", Json::array())) {
      text += fmt::format("\n{} was not measured: {}\n", exercise["id"].get<std::string>(),
                          note.get<std::string>());
    }
  }
  return text;
}

}  // namespace onepass::driver
