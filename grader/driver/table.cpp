#include "driver/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <vector>

namespace onepass::driver {
namespace {

using Row = std::vector<std::string>;

// Columns as wide as their widest cell: the first `left` ones to the left, all others to the right.
std::string laid_out(const std::string& title, const std::vector<Row>& rows, std::size_t left = 1) {
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

// The number at `key` times `factor`, or a dash where there is none.
std::string number(const Json& entry, const char* key, double factor, int decimals) {
  const auto found = entry.find(key);
  if (found == entry.end() || !found->is_number()) {
    return "-";
  }
  return fmt::format("{:.{}f}", found->get<double>() * factor, decimals);
}

Row shape(const Json& exercise, const Json& entry) {
  return {exercise["id"].get<std::string>(), number(entry, "rows", 1, 0),
          number(entry, "cols", 1, 0), entry.value("dtype", "-")};
}

// The student's bandwidth in per cent of the copy's.
std::string share_of_copy(const Json& entry) {
  const auto copy = entry.find("copy_gbs");
  if (copy == entry.end() || !copy->is_number() || copy->get<double>() <= 0) {
    return "-";
  }
  const std::string share = number(entry, "student_gbs", 100 / copy->get<double>(), 0);
  return share == "-" ? share : share + " %";
}

}  // namespace

std::string place(const Json& line) {
  const std::string file = std::filesystem::path(line.value("file", "")).filename().string();
  return fmt::format("{}:{}", file.empty() ? "?" : file, line.value("line", 0));
}

std::string traffic_table(const Json& report) {
  std::vector<Row> rows = {
      {"", "rows", "cols", "dtype", "least", "yours", "distinct", "naive", "solution"}};
  for (const Json& exercise : report["exercises"]) {
    for (const Json& entry : exercise["traffic"]) {
      const double elements = entry.value("rows", 1.0) * entry.value("cols", 1.0);
      const auto figure = [&](const char* who, const char* key) {
        const Json of_whom = entry.value(who, Json());
        return of_whom.is_object() ? number(of_whom, key, 1 / elements, 2) : "-";
      };
      Row row = shape(exercise, entry);
      row.push_back(number(entry, "least_bytes", 1 / elements, 2));
      row.push_back(figure("student", "requested_bytes"));
      row.push_back(figure("student", "distinct_bytes"));
      row.push_back(figure("naive", "requested_bytes"));
      row.push_back(figure("reference", "requested_bytes"));
      rows.push_back(row);
    }
  }
  return rows.size() == 1
             ? ""
             : laid_out("Global memory traffic, bytes per element, in sectors of 32 bytes:", rows);
}

std::string lines_table(const Json& exercise, const Json& entry) {
  std::vector<Row> rows = {{"", "", "requests", "moved by each", "least", "bytes used"}};
  for (const Json& line : entry.value("lines", Json::array())) {
    const double requests = line.value("requests", 1.0);
    const bool is_shared = line.value("space", "") == "shared";
    const double moved = line.value("units", 0.0) * (is_shared ? 128 : 32);
    rows.push_back(
        {place(line), line.value("action", ""), number(line, "requests", 1, 0),
         number(line, "units", 1 / requests, 1) + (is_shared ? " wavefronts" : " sectors"),
         number(line, "least_units", 1 / requests, 1),
         number(line, "bytes", 100 / moved, 0) + " %"});
  }
  const Row what = shape(exercise, entry);
  return rows.size() == 1
             ? ""
             : laid_out(fmt::format("The lines of {}, {} x {} {}, and the requests of their warps:",
                                    what[0], what[1], what[2], what[3]),
                        rows, 2);
}

std::string bandwidth_table(const Json& report) {
  std::vector<Row> rows = {{"", "rows", "cols", "dtype", "naive", "yours", "copy", "of copy"}};
  std::string notes;
  for (const Json& exercise : report["exercises"]) {
    for (const Json& entry : exercise["bandwidth"]) {
      Row row = shape(exercise, entry);
      for (const char* key : {"naive_gbs", "student_gbs", "copy_gbs"}) {
        row.push_back(number(entry, key, 1, 0));
      }
      row.push_back(share_of_copy(entry));
      if (const std::string note = entry.value("note", ""); !note.empty()) {
        notes += fmt::format("  {} {} x {} {}: {}\n", row[0], row[1], row[2], row[3], note);
      }
      rows.push_back(row);
    }
  }
  return rows.size() == 1
             ? ""
             : laid_out("Effective bandwidth, GB/s (least bytes / median time):", rows) + notes;
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
