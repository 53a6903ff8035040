#include "driver/student/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <regex>

#include "driver/bad_input.h"
#include "driver/files.h"
#include "driver/naming.h"
#include "driver/nearest.h"
#include "driver/student/notebook.h"
#include "driver/student/page.h"
#include "driver/student/standing.h"
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

// What the last grading of an exercise named.
struct Naming {
  Named exercise;
  std::string mistake;
};

std::vector<Naming> named_last(const Config& config) {
  const Notebook notebook = read_notebook(config);
  std::vector<Naming> all;
  for (const Named& one : exercises_named(config, {})) {
    const auto note = notebook.find(one.exercise->id);
    if (note != notebook.end() && !note->second.diagnosis.empty()) {
      all.push_back({one, note->second.diagnosis});
    }
  }
  return all;
}

// Those of `wanted`, in the page's order, each once.
std::string told_of(const std::vector<Mistake>& all, const std::vector<std::string>& wanted) {
  std::string text;
  for (const Mistake& mistake : all) {
    if (std::find(wanted.begin(), wanted.end(), mistake.name) != wanted.end()) {
      text += (text.empty() ? "" : "\n") + told(mistake);
    }
  }
  return text;
}

std::string explain_last(const Config& config, const std::vector<Mistake>& all) {
  std::string text = "What the last grading of each exercise named first:\n";
  std::vector<std::string> wanted;
  for (const Naming& one : named_last(config)) {
    text += fmt::format("  {} {}: {}\n", number_of(one.exercise), one.exercise.exercise->id,
                        one.mistake);
    wanted.push_back(one.mistake);
  }
  const std::string explained = told_of(all, wanted);
  if (explained.empty()) {
    throw BadInput(
        fmt::format("The last grading has named no mistake: name one of {}, such as {} explain "
                    "missing-barrier.",
                    kPage, program_of(config)));
  }
  return text + "\n" + explained;
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
  if (name.empty()) {
    return explain_last(config, all);
  }
  const std::string text = told_of(all, {name});
  if (!text.empty()) {
    return text;
  }
  throw BadInput(
      fmt::format("There is no mistake {}{}", shell_word(name),
                  did_you_mean(mistakes(config), name, fmt::format("{} lists them all", kPage))));
}

}  // namespace onepass::driver
