// The pages beside the project: code that is quoted is the real source, links lead somewhere, and
// what a page tells its reader to open or to run is there. First the checkers, on small pages with
// and without a mistake; then the project's own pages.
#include "quotes.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>

#include <doctest/doctest.h>

#include "names.h"
#include "process/process.h"

namespace {

using namespace onepass::docs;
namespace fs = std::filesystem;

const char* const kSource =
    "int first();\n"
    "\n"
    "int second() {\n"
    "  if (first()) {\n"
    "    return 1;\n"
    "  }\n"
    "  // [solution 1]\n"
    "  return 2;\n"
    "  // [end]\n"
    "}\n";

std::optional<std::string> only_source(const std::string& path) {
  return path == "a.cu" ? std::optional<std::string>(kSource) : std::nullopt;
}

/// What is said of a page with one block.
Complaints of_block(const std::string& mark, const std::string& code) {
  return check_quotes(parse_page("page.md", mark + "\n```cpp\n" + code + "```\n"), only_source);
}

const std::string kQuoted = "<!-- quoted from a.cu -->";

bool only_pages(const std::string& path) {
  return path == "docs/page.md" || path == "docs/other.md" || path == "exercises/a.cu" ||
         path == "docs/";
}

Page page_with(const std::string& text) {
  return parse_page("docs/page.md", text);
}

std::optional<std::string> headings_of(const std::string& path) {
  return path == "docs/other.md" ? "# Other\n## 1.1 Sum a row\n" : "# A page\n";
}

Complaints of_link(const std::string& text) {
  return check_links(page_with("# A page\n" + text), headings_of, only_pages);
}

Complaints of_command(const std::string& text) {
  return check_commands(page_with(text), [](const std::string& command) {
    return command.empty() || command == "grade"
               ? std::optional<std::string>("  -h,--help  This help\n  --seed UINT=1  Seed\n")
               : std::nullopt;
  });
}

// ---- the project ----

const fs::path kRoot = ONEPASS_SOURCE_DIR;

/// docs/adding_an_exercise.md makes files as it goes (adding_an_exercise_test.sh follows it): a
/// page may name them, and what their names tell, though they are not there.
const char* const kWorkedExample = "docs/adding_an_exercise.md";

std::set<std::string> made_by_example() {
  static const std::regex kFile("`([^`]+)`:");
  std::ifstream page(kRoot / kWorkedExample);
  std::set<std::string> made;
  std::smatch match;
  for (std::string line; std::getline(page, line);) {
    if (std::regex_match(line, match, kFile)) {
      const std::string file = match[1];
      made.insert(file);
      if (file.compare(0, 10, "solutions/") == 0) {
        made.insert("exercises" + file.substr(9));
      }
    }
  }
  return made;
}

bool exists(const std::string& path) {
  static const std::set<std::string> made = made_by_example();
  const auto found = made.lower_bound(path);  // the file, or the first in the folder
  return fs::exists(kRoot / path) ||
         (found != made.end() && found->compare(0, path.size(), path) == 0);
}

std::optional<std::string> text_in(const std::string& path) {
  std::ifstream file(kRoot / path);
  std::ostringstream text;
  text << file.rdbuf();
  return file ? std::optional<std::string>(text.str()) : std::nullopt;
}

std::optional<std::string> help_of(const std::string& command) {
  const auto result = onepass::process::run({{ONEPASS_PROGRAM, command, "--help"}}, 60);
  const auto main = onepass::process::run({{ONEPASS_PROGRAM, "--help"}}, 60);
  if (command.empty()) {
    return main.output;
  }
  // For what is no command it says the same as for none.
  return result.output == main.output ? std::nullopt : std::optional<std::string>(result.output);
}

/// README.md and the pages of docs/, as far as the file's name begins with this.
std::vector<Page> pages(const std::string& prefix = "") {
  std::vector<std::string> paths;
  for (const auto& entry : fs::directory_iterator(kRoot / "docs")) {
    if (entry.path().extension() == ".md") {
      paths.push_back("docs/" + entry.path().filename().string());
    }
  }
  paths.push_back("README.md");
  std::sort(paths.begin(), paths.end());
  std::vector<Page> found;
  for (const std::string& path : paths) {
    if (path.compare(0, prefix.size(), prefix) == 0) {
      found.push_back(parse_page(path, text_in(path).value_or("")));
    }
  }
  return found;
}

std::vector<Page> chapters() {
  std::vector<Page> found = pages("docs/0");
  found.erase(found.begin());  // 00_setup.md
  found.pop_back();            // 05_model.md, which has no exercises
  return found;
}

/// What the first such line of a file says behind its start.
std::string rest_of_line(const std::string& text, const std::string& start) {
  for (const std::string& line : lines_of(text)) {
    if (line.compare(0, start.size(), start) == 0) {
      return line.substr(start.size());
    }
  }
  return "";
}

/// Exercises "at the speed of memory", and those that are built like them.
bool is_fast(const fs::path& exercise) {
  const std::string name = exercise.stem().string();
  return name.find("fast") != std::string::npos || name == "residual" || name == "wide_rows" ||
         name == "qk_norm";
}

/// The section of a page below that heading.
std::string section_of(const std::string& page, const std::string& heading) {
  const std::size_t begin = page.find("\n## " + heading + "\n");
  return begin == std::string::npos ? ""
                                    : page.substr(begin, page.find("\n## ", begin + 1) - begin);
}

/// The hints of a section, and what the part for a TODO begins with.
const std::pair<std::string, std::string> kHints[] = {
    {"Hint 1: where do I start?", "**TODO "},
    {"Hint 2: what goes wrong?", "**TODO "},
    {"Hint 3: the shape of the code", "// TODO "},
};

/// The hint of a section below that summary.
std::string hint_of(const std::string& section, const std::string& summary) {
  const std::size_t begin = section.find("<summary>" + summary + "</summary>");
  return begin == std::string::npos
             ? ""
             : section.substr(begin, section.find("</details>", begin) - begin);
}

std::string joined(const Complaints& complaints) {
  std::string all;
  for (const std::string& one : complaints) {
    all += one + "\n";
  }
  return all;
}

}  // namespace

TEST_CASE("a quote is a run of whole lines of its source, which may be moved to the left") {
  CHECK(of_block(kQuoted, "int first();\n").empty());
  CHECK(of_block(kQuoted, "int first();\n\nint second() {\n").empty());
  CHECK(of_block(kQuoted, "if (first()) {\n  return 1;\n}\n").empty());
}

TEST_CASE("a quote that has drifted from its source is told") {
  CHECK(joined(of_block(kQuoted, "int first(int);\n")) ==
        "page.md:2: these lines are not, or no longer, in a.cu\n");
  CHECK(of_block(kQuoted, "int first\n").size() == 1);                         // half a line
  CHECK(of_block(kQuoted, "int first();\nint second() {\n").size() == 1);      // a line is missing
  CHECK(of_block(kQuoted, "if (first()) {\n    return 1;\n}\n").size() == 1);  // moved unevenly
  CHECK(of_block(kQuoted, "").size() == 1);
  CHECK(joined(of_block("<!-- quoted from b.cu -->", "int first();\n")) ==
        "page.md:2: there is no b.cu\n");
}

TEST_CASE("three dots stand for lines that are left out, in the source's order") {
  CHECK(of_block(kQuoted, "int first();\n...\n  if (first()) {\n").empty());
  CHECK(of_block(kQuoted, "if (first()) {\n  // ...\n}\n").empty());
  CHECK(of_block(kQuoted, "  if (first()) {\n...\nint first();\n").size() == 1);
  CHECK(of_block(kQuoted, "  if (first()) {\n...\n    return 1;\n").size() == 1);  // none left out
}

TEST_CASE("what a TODO leaves out is not quoted") {
  CHECK(joined(of_block(kQuoted, "return 2;\n")) ==
        "page.md:2: this quotes what a TODO of a.cu leaves out\n");
  CHECK(of_block(kQuoted, "}\n").empty());
}

TEST_CASE("C++ without a mark is told, and so is a sketch without a gap") {
  CHECK(of_block("", "int first();\n").size() == 1);
  CHECK(of_block("<!-- a remark -->", "int first();\n").size() == 1);
  CHECK(of_block("<!-- sketch -->", "int first();\n").size() == 1);
  CHECK(of_block("<!-- sketch -->", "int /* what? */ first();\n").empty());
}

TEST_CASE("a link to a page or a heading that is not there is told") {
  CHECK(of_link("[a](other.md#11-sum-a-row), [b](#a-page), [c](https://example.org/x.md)").empty());
  CHECK(joined(of_link("[a](missing.md)")) == "docs/page.md:2: there is no docs/missing.md\n");
  CHECK(of_link("![figure](figures/missing.svg)").size() == 1);
  CHECK(joined(of_link("[a](other.md#12-sum-a-row)")) ==
        "docs/page.md:2: no heading of docs/other.md is #12-sum-a-row\n");
}

TEST_CASE("a file, a target, a command or an option that is not there is told") {
  CHECK(check_paths(page_with("Open `exercises/a.cu`, not build/exercises/b.cu."), only_pages)
            .empty());
  CHECK(check_paths(page_with("Open `exercises/b.cu`."), only_pages).size() == 1);
  CHECK(check_targets(page_with("make -C build -j2 grade && ls"), {"grade"}).empty());
  CHECK(check_targets(page_with("`make -C build grade_rope`"), {"grade"}).size() == 1);
  CHECK(of_command("`build/onepass grade --seed 7`, `build/onepass --help`").empty());
  CHECK(joined(of_command("`build/onepass grade --lines`")) ==
        "docs/page.md:1: build/onepass grade has no option --lines\n");
  CHECK(of_command("`build/onepass draw`").size() == 1);
}

TEST_CASE("a quoted failure of a check that is not there is told") {
  const std::string source = "CHECK_CASE(\"rows of one \"\n  \"column\", points(2),\n todo(1)) {";
  const auto of_failure = [&](const std::string& line) {
    return check_check_names(page_with("```text\n" + line + "\n```\n"), source);
  };
  CHECK(of_failure("  failed: rows of one column (TODO 1, 2 points)").empty());
  CHECK(of_failure("  failed: rows of two columns (TODO 1, 2 points)").size() == 1);
  CHECK(of_failure("  failed: rows of one column (TODO 2, 2 points)").size() == 1);
  CHECK(of_failure("  failed: rows of one column (TODO 1, 1 point)").size() == 1);
}

TEST_CASE("the chapters quote the real source") {
  const fs::directory_iterator folders(kRoot / "solutions");
  REQUIRE(static_cast<std::ptrdiff_t>(chapters().size()) == std::distance(begin(folders), {}));
  for (const Page& page : chapters()) {
    CHECK(joined(check_quotes(page, text_in)) == "");
    const auto quotes = [&](const std::string& from) {
      return std::any_of(page.blocks.begin(), page.blocks.end(), [&](const Block& block) {
        return block.mark.compare(0, 12, "quoted from ") == 0 && block.mark.find(from) < 80;
      });
    };
    INFO(page.path);
    CHECK(quotes("naive.cu"));          // to count its bytes by hand
    CHECK(quotes("include/onepass/"));  // the contract
    CHECK(quotes("solutions/"));        // what an exercise is given
  }
}

TEST_CASE("the pages link to what is there") {
  for (const Page& page : pages()) {
    CHECK(joined(check_links(page, text_in, exists)) == "");
  }
}

TEST_CASE("the pages name files, targets, commands and options that are there") {
  std::istringstream words(ONEPASS_TARGETS);
  std::vector<std::string> targets{std::istream_iterator<std::string>(words), {}};
  REQUIRE(!targets.empty());
  for (const std::string& file : made_by_example()) {
    const fs::path path = file;
    if (path.filename() == "chapter.cpp") {
      targets.push_back("grade_" + path.parent_path().filename().string());
    }
  }
  for (const Page& page : pages()) {
    CHECK(joined(check_paths(page, exists)) == "");
    CHECK(joined(check_targets(page, targets)) == "");
    CHECK(joined(check_commands(page, help_of)) == "");
  }
}

TEST_CASE("the checks that the pages quote are there") {
  std::string sources;
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / "grader/chapters")) {
    if (entry.path().filename().string().compare(0, 7, "checks_") == 0) {
      sources += text_in(fs::relative(entry.path(), kRoot).generic_string()).value_or("");
    }
  }
  sources += text_in(kWorkedExample).value_or("");
  for (const Page& page : pages()) {
    CHECK(joined(check_check_names(page, sources)) == "");
  }
}

TEST_CASE("each exercise names a page and a heading to read first") {
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / "solutions")) {
    if (entry.path().extension() != ".cu") {
      continue;
    }
    const std::string path = fs::relative(entry.path(), kRoot).generic_string();
    const std::string line = rest_of_line(text_in(path).value_or(""), "// Read first: ");
    INFO(path);
    const size_t quote = line.find(", \"");
    REQUIRE(quote != std::string::npos);
    const std::string file = line.substr(0, quote);
    const std::string heading = line.substr(quote + 3, line.size() - quote - 4);
    const Page page = parse_page(file, text_in(file).value_or(""));
    CHECK(std::count(page.headings.begin(), page.headings.end(), heading) == 1);
  }
}

TEST_CASE("each exercise has three hints, in each of them a part for each TODO") {
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / "exercises")) {
    if (entry.path().extension() != ".cu") {
      continue;
    }
    const std::string path = fs::relative(entry.path(), kRoot).generic_string();
    const std::string text = text_in(path).value_or("");
    const std::string read_first = rest_of_line(text, "// Read first: ");
    const std::size_t quote = read_first.find(", \"");
    REQUIRE(quote != std::string::npos);
    const std::string heading = read_first.substr(quote + 3, read_first.size() - quote - 4);
    const std::string section =
        section_of(text_in(read_first.substr(0, quote)).value_or(""), heading);
    const auto has = [](const std::string& where, const std::string& what) {
      return where.find(what) != std::string::npos;
    };
    REQUIRE(has(text, "TODO 1"));
    CHECK_FALSE(has(section, "<summary>Hint 4"));
    for (const auto& [summary, part] : kHints) {
      const std::string hint = hint_of(section, summary);
      INFO(path << ", " << summary);
      CHECK(hint != "");
      for (int todo = 1; has(text, "TODO " + std::to_string(todo)); ++todo) {
        INFO("TODO " << todo);
        CHECK(has(hint, part + std::to_string(todo)));
      }
    }
  }
}

TEST_CASE(
    "docs/solutions.md has a section for each exercise, and says something of each of its TODOs") {
  const std::string page = text_in("docs/solutions.md").value_or("");
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / "solutions")) {
    if (entry.path().extension() != ".cu") {
      continue;
    }
    const std::string path = fs::relative(entry.path(), kRoot).generic_string();
    const std::string text = text_in(path).value_or("");
    const std::string number = rest_of_line(text, "// Exercise ").substr(0, 3);
    const std::string chapter = entry.path().parent_path().filename().string().substr(3);
    const std::string section =
        section_of(page, number + " " + chapter + "/" + entry.path().stem().string());
    INFO(path);
    CHECK(section != "");
    for (int todo = 1; text.find("// TODO " + std::to_string(todo)) != std::string::npos; ++todo) {
      INFO("TODO " << todo);
      CHECK(section.find("**TODO " + std::to_string(todo) + ".**") != std::string::npos);
    }
  }
}

TEST_CASE("a plain solution has at most 160 lines") {
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / "solutions")) {
    if (entry.path().extension() == ".cu" && !is_fast(entry.path())) {
      const std::string path = fs::relative(entry.path(), kRoot).generic_string();
      INFO(path);
      CHECK(lines_of(text_in(path).value_or("")).size() <= 160);
    }
  }
}
