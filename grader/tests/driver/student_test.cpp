// What the student's commands are made of, each by itself.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "driver/bad_input.h"
#include "driver/files.h"
#include "driver/nearest.h"
#include "driver/student/completion.h"
#include "driver/student/difference.h"
#include "driver/student/hints.h"
#include "driver/student/page.h"
#include "driver/student/saved_files.h"
#include "driver/student/screen.h"
#include "process/process.h"

using namespace onepass::driver;
namespace fs = std::filesystem;

namespace {

const char* const kSection = R"(Before.

<details><summary>Hint 1: where do I start?</summary>

Read the header.

**TODO 1** is a loop
with a sum.

**TODO 2 and 3** are one line each.

</details>

<details><summary>Hint 2: the shape of the code</summary>

<!-- sketch -->
```cpp
// TODO 1
for (/* all */) {}

// TODO 2, in the loop
x = y;
```

That is all.

</details>

<details><summary>Something else</summary>
Not a hint.
</details>
)";

}  // namespace

TEST_CASE("the hints of a section, and their parts for a TODO") {
  const std::vector<Hint> hints = hints_in(kSection);
  REQUIRE(hints.size() == 2);
  CHECK(hints[0].title == "where do I start?");
  CHECK(as_text(part_for(1, hints[0].markdown), 80) ==
        "Read the header.\n\nTODO 1 is a loop with a sum.\n");
  CHECK(as_text(part_for(3, hints[0].markdown), 80) ==
        "Read the header.\n\nTODO 2 and 3 are one line each.\n");
  CHECK(as_text(part_for(2, hints[1].markdown), 80) ==
        "    // TODO 2, in the loop\n    x = y;\n\nThat is all.\n");
  CHECK(part_for(4, hints[1].markdown) == hints[1].markdown);  // it has no part of its own: all
}

TEST_CASE("a page's text in lines of a terminal") {
  CHECK(as_text("See [the page](a.md#b) and **mind** the *last* `a * b` here.", 80) ==
        "See the page and mind the last `a * b` here.\n");
  CHECK(as_text("Æneid äöü\nsums x̂ all.", 9) == "Æneid äöü\nsums x̂\nall.\n");
  CHECK(as_text("- one\n- two\n  goes on\n\n\n\nEnd.", 80) == "- one\n- two goes on\n\nEnd.\n");
  CHECK(as_text("", 80) == "");
}

TEST_CASE("lines that differ, with three of those around them") {
  const std::string one = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
  CHECK(differing_lines(one, one, {}) == "");
  CHECK(differing_lines(one, "1\n2  \n3\n4\n5\n6\n7\n8\n9", {}) == "");
  CHECK(differing_lines(one, "1\n2\n3\n4\nfive\n6\n7\n8\n9\n", {}) ==
        "line 2:\n  2\n  3\n  4\n- 5\n+ five\n  6\n  7\n  8\n");
  CHECK(differing_lines("a\n", "a\nb\n", {}) == "line 1:\n  a\n+ b\n");
  CHECK(differing_lines("", "b\n", {}) == "line 1:\n+ b\n");
}

TEST_CASE("the nearest word, if one is near") {
  const std::vector<std::string> words = {"grade", "hint", "list"};
  CHECK(nearest(words, "GRAD") == "grade");
  CHECK(nearest(words, "hnit") == "hint");
  CHECK(nearest(words, "watch") == "");
  CHECK(nearest(words, "") == "");
  CHECK(nearest(words, std::string(1000000, 'x')) == "");
}

TEST_CASE("a file counts as saved when its text is another, however it was written") {
  const ScratchFolder folder(fs::temp_directory_path());
  const fs::path one = folder.path() / "one.cu";
  const fs::path two = folder.path() / "two.cu";
  write_file(one, "a");
  SavedFiles files({one, two});
  using Numbers = std::vector<std::size_t>;
  CHECK(files.take() == Numbers{});
  write_file(one, "b");  // another file, renamed
  CHECK(files.take() == Numbers{0});
  CHECK(files.take() == Numbers{});
  write_file(one, "b");
  CHECK(files.take() == Numbers{});
  fs::create_symlink(one, folder.path() / "link");
  write_file(folder.path() / "link", "c");  // in its place
  write_file(two, "new");
  CHECK(files.take() == Numbers{0, 1});
  fs::remove(one);
  CHECK(files.take() == Numbers{});
  write_file(one, "d");
  CHECK(files.take() == Numbers{0});
}

TEST_CASE("bash completes the words of a command") {
  const std::vector<CommandWords> commands = {{"grade", {"1.1", "toy/first", "--seed"}},
                                              {"explain", {"no-answer"}},
                                              {"", {"grade", "map"}}};
  const auto completed = [&](const std::string& line, const std::string& shell = "bash") {
    const std::string script = fmt::format(
        "{}\nCOMP_WORDS=({}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); _onepass; echo "
        "\"${{COMPREPLY[@]}}\"",
        completion(shell, commands), line);
    return onepass::process::run({{"/bin/bash", "-c", script}}, 60).output;
  };
  CHECK(completed("build/onepass ''") == "grade map\n");
  CHECK(completed("onepass g") == "grade\n");
  CHECK(completed("onepass grade ''") == "1.1 toy/first --seed\n");
  CHECK(completed("onepass grade 1.1 toy/") == "toy/first\n");
  CHECK(completed("onepass explain n") == "no-answer\n");
  CHECK_THROWS_WITH_AS(completion("tcsh", commands),
                       "There is no completion for tcsh: choose bash, zsh or fish.", BadInput);
}

TEST_CASE("the lines of a screen are broken between words, and go on further to the right") {
  CHECK(wrapped("12345 789\n", 9) == "12345 789\n");
  CHECK(wrapped("12345 7890\n", 9) == "12345\n  7890\n");
  CHECK(wrapped("  one two three four\n\nfive\n", 16) == "  one two three\n    four\n\nfive\n");
  CHECK(wrapped("abcdefghijkl mn\n", 9) == "abcdefghijkl\n  mn\n");  // no blank to break at
  CHECK(wrapped("one two three four five six\n", 10) == "one two\n  three\n  four\n  five six\n");
  CHECK(wrapped("\x1b[31m12345\x1b[0m 789\n", 9) == "\x1b[31m12345\x1b[0m 789\n");
  CHECK(wrapped("x\u0302\u0302\u0302 789\n", 9) == "x\u0302\u0302\u0302 789\n");
  CHECK(wrapped("as long as it is\n", 0) == "as long as it is\n");
}
