// What has been graded, kept in the folder of the results: of each file that was submitted, whoever
// by, one report. A run that was killed goes on from there; and of a file that is changed, or a
// workbook that is, everything that it changes is graded again, and nothing else.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "driver/report.h"

namespace onepass::driver::course {

/// All that a verdict depends on.
struct Key {
  std::string label;  // for a reader: "rmsnorm-forward"
  Json settings;
  std::string source;
};

class Store {
 public:
  explicit Store(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// Nothing where there is none, or what there is is damaged or another key's.
  std::optional<Json> load(const Key& key) const;
  /// All of it or nothing is on the disk afterwards. Throws GraderFault.
  void save(const Key& key, const Json& result) const;

 private:
  std::filesystem::path file_of(const Key& key) const;

  std::filesystem::path folder_;
};

}  // namespace onepass::driver::course
