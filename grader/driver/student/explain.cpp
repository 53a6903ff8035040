#include "driver/student/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <regex>

#include "driver/bad_input.h"
#include "driver/files.h"
#include "driver/nearest.h"
#include "driver/student/notebook.h"
#include "driver/student/page.h"
#include "driver/text.h"

namespace onepass::driver {
namespace {

constexpr const char* kPage = "docs/mistakes.md";

struct Mistake {
  std::string name, section, happened, remedy;
};

std::vector<Mistake> on_page(const Config& config) {
  static const std::regex row(R"(\| `([a-z0-9-]+)` \| (.*) \| (.*) \|)");
  std::vector<Mistake> found;
  std::string section;
  for (const std::string& line : lines_of(read_file(config.source / kPage))) {
    std::smatch match;
    if (line.rfind("## ", 0) == 0) {
      section = line.substr(3);
    } else if (std::regex_match(line, match, row)) {
      found.push_back({match[1], section, match[2], match[3]});
    }
  }
  return found;
}

std::string told(const Mistake& mistake) {
  const std::size_t width = reading_width();
  return fmt::format("{} ({}, \"{}\")\n\nWhat happened:\n{}\nWhat to do:\n{}", mistake.name, kPage,
                     mistake.section, as_text(mistake.happened, width),
                     as_text(mistake.remedy, width));
}

std::vector<std::string> named_last(const Config& config) {
  std::vector<std::string> names;
  for (const auto& [exercise, note] : read_notebook(config)) {
    if (!note.diagnosis.empty() &&
        std::find(names.begin(), names.end(), note.diagnosis) == names.end()) {
      names.push_back(note.diagnosis);
    }
  }
  return names;
}

}  // namespace

std::vector<std::string> mistakes(const Config& config) {
  std::vector<std::string> names;
  for (const Mistake& mistake : on_page(config)) {
    names.push_back(mistake.name);
  }
  return names;
}

std::string explain(const Config& config, const std::string& name) {
  const std::vector<Mistake> all = on_page(config);
  const std::vector<std::string> wanted =
      name.empty() ? named_last(config) : std::vector<std::string>{name};
  std::string text;
  for (const Mistake& mistake : all) {
    if (std::find(wanted.begin(), wanted.end(), mistake.name) != wanted.end()) {
      text += (text.empty() ? "" : "\n") + told(mistake);
    }
  }
  if (!text.empty()) {
    return text;
  }
  if (name.empty()) {
    throw BadInput(fmt::format("The last grading has named no mistake: name one of {}.", kPage));
  }
  throw BadInput(
      fmt::format("There is no mistake {}{}", shell_word(name),
                  did_you_mean(mistakes(config), name, fmt::format("{} lists them all", kPage))));
}

}  // namespace onepass::driver
