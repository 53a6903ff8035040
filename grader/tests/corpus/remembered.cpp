#include "tests/corpus/remembered.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "driver/cache.h"
#include "driver/files.h"

namespace onepass::corpus {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

std::string name_of(const Entry& entry, int seed) {
  return fmt::format("{}, seed {}", entry.name, seed);
}

}  // namespace

std::string what_grades(const driver::Config& config, const std::string& exercise) {
  const driver::Toolchain& toolchain = config.cpu;
  std::vector<fs::path> files = {config.build / "onepass", config.build / "onepass.json",
                                 "/proc/self/exe", toolchain.compiler};
  files.insert(files.end(), toolchain.inputs.begin(), toolchain.inputs.end());
  for (const driver::Chapter& chapter : config.chapters) {
    for (const driver::Exercise& candidate : chapter.exercises) {
      if (candidate.id == exercise) {
        files.insert(files.end(), {chapter.grader, candidate.binding});
      }
    }
  }
  return driver::fingerprint_of_files(files);
}

Remembered::Remembered(fs::path file, std::string grading)
    : file_(std::move(file)), grading_(std::move(grading)) {
  std::error_code error;
  if (!fs::exists(file_, error)) {
    return;
  }
  const json verdicts = json::parse(driver::read_file(file_), nullptr, false);
  for (const json& verdict : verdicts.is_array() ? verdicts : json::array()) {
    known_[verdict.at("name")] = {verdict.at("content"),
                                  {verdict.at("error_over_bound"), verdict.at("where")}};
  }
}

const Margin* Remembered::find(const Entry& entry, int seed) const {
  const auto found = known_.find(name_of(entry, seed));
  const bool same = found != known_.end() && found->second.content == content(entry);
  return same ? &found->second.margin : nullptr;
}

void Remembered::add(const Entry& entry, int seed, const Margin& margin) {
  known_[name_of(entry, seed)] = {content(entry), margin};
}

void Remembered::save() const {
  json verdicts = json::array();
  for (const auto& [name, verdict] : known_) {
    verdicts.push_back({{"name", name},
                        {"content", verdict.content},
                        {"error_over_bound", verdict.margin.error_over_bound},
                        {"where", verdict.margin.where}});
  }
  driver::write_file(file_, verdicts.dump(1) + "\n");
}

std::string Remembered::content(const Entry& entry) const {
  const std::string all =
      fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}", grading_, entry.kind, entry.source.string(),
                  entry.status, entry.diagnosis, entry.unlike, entry.check, entry.says, entry.text);
  return driver::fingerprint(all);
}

}  // namespace onepass::corpus
