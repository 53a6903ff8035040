// docs/mistakes.md lists every diagnosis that the grader can give, and no other; and each is tried
// on kernels of the corpus that have the mistake, and that only look as if they had.
//
// Diagnoses are literals of the grader's source, words joined by hyphens: so all such literals are
// collected, and those that mean something else are listed here.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "tests/corpus/corpus.h"

namespace {

namespace corpus = onepass::corpus;
namespace fs = std::filesystem;
using Names = std::set<std::string>;

const fs::path kRepository = ONEPASS_SOURCE_DIR;

// doctest's options, and a program of NVIDIA's driver.
const Names kNoDiagnoses = {"case-sensitive", "order-by", "test-case", "test-suite",
                            "nvidia-modprobe"};

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE_MESSAGE(file, path.string());
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// What the first group of `pattern` matches, everywhere in `text`.
void collect(const std::string& text, const std::regex& pattern, Names& names) {
  for (std::sregex_iterator match(text.begin(), text.end(), pattern), end; match != end; ++match) {
    names.insert((*match)[1]);
  }
}

Names in_source() {
  const std::regex literal("\"([a-z0-9]+(?:-[a-z0-9]+)+)\"");
  Names names;
  for (const char* folder : {"chapters", "verdict"}) {
    for (const auto& file : fs::recursive_directory_iterator(kRepository / "grader" / folder)) {
      const fs::path extension = file.path().extension();
      if (extension == ".cpp" || extension == ".h") {
        collect(read(file.path()), literal, names);
      }
    }
  }
  return names;
}

Names on_page() {
  Names names;
  collect(read(kRepository / "docs" / "mistakes.md"), std::regex("\n\\| `([a-z0-9-]+)` \\|"),
          names);
  return names;
}

Names without(const Names& all, const Names& others) {
  Names rest;
  std::set_difference(all.begin(), all.end(), others.begin(), others.end(),
                      std::inserter(rest, rest.begin()));
  return rest;
}

}  // namespace

TEST_CASE("every diagnosis that the grader can give is on the page") {
  const Names source = in_source();
  REQUIRE(source.count("missing-barrier") == 1);
  for (const std::string& name : without(without(source, kNoDiagnoses), on_page())) {
    FAIL_CHECK("not in docs/mistakes.md: ", name);
  }
}

TEST_CASE("every diagnosis on the page can be given") {
  const Names page = on_page();
  REQUIRE(page.size() > 50);
  for (const std::string& name : without(page, in_source())) {
    FAIL_CHECK("in docs/mistakes.md, but nowhere in the grader: ", name);
  }
}

TEST_CASE("what is said to be no diagnosis is in the source, and not on the page") {
  for (const std::string& name : without(kNoDiagnoses, in_source())) {
    FAIL_CHECK("no longer in the source: ", name);
  }
  for (const std::string& name : kNoDiagnoses) {
    CHECK_MESSAGE(on_page().count(name) == 0, name);
  }
}

TEST_CASE("what the corpus expects to be diagnosed is on the page") {
  Names expected;
  for (const corpus::Entry& entry : corpus::entries(kRepository)) {
    expected.insert(entry.diagnosis);
  }
  CHECK(expected.size() > 50);
  for (const std::string& name : without(without(expected, {"", corpus::kNone}), on_page())) {
    FAIL_CHECK("expected by the corpus, but not in docs/mistakes.md: ", name);
  }
}

TEST_CASE("each mistake on the page is tried on a kernel that has it, and on three look-alikes") {
  const std::vector<corpus::Entry> entries = corpus::entries(kRepository);
  for (const std::string& name : on_page()) {
    Names exercises;
    for (const corpus::Entry& entry : entries) {
      if (entry.diagnosis == name) {
        exercises.insert(entry.exercise);
      }
    }
    CHECK_MESSAGE(!exercises.empty(), "no kernel of the corpus has it: ", name);
    const auto is_alike = [&](const corpus::Entry& entry) {
      return exercises.count(entry.exercise) == 1 && entry.diagnosis != name &&
             (", " + entry.unlike + ",").find(", " + name + ",") != std::string::npos;
    };
    const auto alike = std::count_if(entries.begin(), entries.end(), is_alike);
    CHECK_MESSAGE(alike >= 3, "too few kernels of the corpus look like it: ", name);
  }
}
