// `onepass` alone, list, hint, explain, reset, diff and completion, as a student meets them, and
// what is remembered between them.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "driver/files.h"
#include "driver/report.h"
#include "tests/driver/workbook.h"

using namespace onepass::driver;
using onepass::driver::test::has;
using onepass::driver::test::Workbook;
namespace fs = std::filesystem;

namespace {

const char* const kSolution =
    "#include <toy.h>\n"
    "// TODO 1: define answer(). It\n"
    "// returns 42.\n"
    "// [solution 1]\n"
    "int answer() { return 42; }\n"
    "// [end]\n";
const char* const kSkeleton =
    "#include <toy.h>\n"
    "// TODO 1: define answer(). It\n"
    "// returns 42.\n";
const char* const kWrong =
    "#include <toy.h>\n"
    "// TODO 1: define answer(). It\n"
    "// returns 42.\n"
    "int answer() { return 41; }\n";

// A workbook with solutions and pages; its exercises are as they are given.
struct Fresh : Workbook {
  Fresh() {
    for (const char* name : {"first", "second"}) {
      write_file(root() / "solutions/01_toy" / (std::string(name) + ".cu"), kSolution);
      write_file(exercise(name), kSkeleton);
    }
    write_file(
        root() / "docs/toy.md",
        "# Toy\n\n## First\n\n"
        "<details><summary>Hint 1: where do I start?</summary>\n\n"
        "**TODO 1** is a function.\n\n**TODO 2** is nothing.\n\n</details>\n"
        "<details><summary>Hint 2: what goes wrong?</summary>\n\n41 is wrong.\n\n</details>\n"
        "\n## Second\n\nNo hints.\n");
    write_file(
        root() / "docs/mistakes.md",
        "# Mistakes\n\n## Numbers\n\n| diagnosis | what happened | what to do |\n|---|---|---|\n"
        "| `no-answer` | There is no answer. | Give one. |\n"
        "| `wrong-answer` | It is `41`. | Add one. |\n");
    write_file(root() / "docs/solutions.md",
               "# Solutions\n\n## 1.1 toy/first\n\nForty-two is the answer.\n");
  }
  void solve(const std::string& name) const {
    write_file(exercise(name), std::string(kSkeleton) + "int answer() { return 40 + 2; }\n");
  }
};

}  // namespace

TEST_CASE("onepass alone says where one stands, and what comes next") {
  const Fresh workbook;
  auto outcome = workbook.onepass("");
  CHECK(outcome.code == 0);
  CHECK(has(outcome.output,
            "One Pass: 0 of 2 exercises passed, 0 of 9 points\n\n"
            "  toy           0 of 2  passed    0 of 9   points\n"));
  CHECK(has(outcome.output,
            "\nNext: 1.1 toy/first, The first (not started)\n"
            "  exercises/01_toy/first.cu:2\n"
            "  TODO 1: define answer(). It\n"
            "  returns 42.\n"
            "  Read docs/toy.md, \"First\"\n"));
  CHECK(has(outcome.output, "  build/onepass grade 1.1 "));
  workbook.solve("first");
  CHECK(has(workbook.onepass("").output, "1.1 toy/first, The first (not graded yet)"));
  CHECK(has(workbook.onepass("grade first").output,
            "Score: 5 of 5\nAll passed.\nYours beside the solution: build/onepass diff 1.1\n"
            "Next: 1.2 toy/second, The second (not started)\n"
            "  exercises/01_toy/second.cu:2\n  TODO 1: define"));
  CHECK(has(workbook.onepass("").output, "1 of 2 exercises passed, 5 of 9 points"));
  workbook.solve("second");
  CHECK(has(workbook.onepass("grade").output,
            "All passed.\nThat is the whole workbook. Each chapter ends with what to try next.\n"));
  outcome = workbook.onepass("");
  CHECK(has(outcome.output, "2 of 2 exercises passed, 9 of 9 points"));
  CHECK(has(outcome.output, "\nThat is the whole workbook. Each chapter ends with what to try "));
}

TEST_CASE("onepass list: points, and each state") {
  const Fresh workbook;
  const auto first = [&] {
    const std::string output = workbook.onepass("list").output;
    return output.substr(0, output.find('\n'));
  };
  CHECK(first() == "1.1  toy/first     0 of 5   not started");
  write_file(workbook.exercise("first"), kWrong);
  CHECK(first() == "1.1  toy/first     0 of 5   not graded yet");
  workbook.onepass("grade");
  CHECK(first() == "1.1  toy/first     3 of 5   failed");
  write_file(workbook.exercise("first"), std::string(kWrong) + "//\n");
  CHECK(first() == "1.1  toy/first     3 of 5   changed since graded");
  workbook.solve("first");
  workbook.onepass("grade");
  CHECK(first() == "1.1  toy/first     5 of 5   passed");
  write_file(workbook.exercise("first"), kWrong);
  CHECK(first() == "1.1  toy/first     5 of 5   changed since it passed");
  workbook.onepass("grade");
  CHECK(first() == "1.1  toy/first     3 of 5   failed; passed before");
  workbook.solve("first");
  CHECK(first() == "1.1  toy/first     5 of 5   passed");  // as it was when it passed
  fs::remove(workbook.exercise("first"));
  CHECK(first() == "1.1  toy/first     0 of 5   missing");
}

TEST_CASE("a chapter whose grader is not built is no fault, and comes last") {
  const Fresh workbook;
  workbook.edit_config(
      "}]}],\n \"cpu\"",
      "}]}, {\"name\": \"later\", \"folder\": \"02_later\", \"grader\": "
      "\"/nowhere/grade-later\", \"exercises\": [{\"id\": \"later/one\", \"file\": "
      "\"one.cu\", \"binding\": \"\", \"naive\": \"\"}]}],\n \"cpu\"");
  workbook.solve("first");
  workbook.solve("second");
  const std::string next = "Next: later. Its grader is not built yet: make -C build grade-later\n";
  CHECK(has(workbook.onepass("grade toy").output, "All passed.\n" + next));
  for (const char* command : {"", "list"}) {
    const auto outcome = workbook.onepass(command);
    CHECK(outcome.code == 0);
    CHECK(has(outcome.output, next));
  }
  const auto refused = workbook.onepass("hint later/one");
  CHECK(refused.code == 2);
  CHECK(refused.output ==
        "later/one cannot be graded. Its grader is not built yet: make -C build grade-later\n");
}

TEST_CASE("what passed has to pass anew when there are other checks") {
  const Fresh workbook;
  workbook.solve("first");
  workbook.onepass("grade first");
  const fs::path grader = workbook.root() / "build/grade-toy";
  std::string script = read_file(grader);
  script.replace(script.find("answers always"), 14, "always answers");
  write_file(grader, script);
  fs::permissions(grader, fs::perms::all);
  CHECK(has(workbook.onepass("list").output, "5 of 5   was graded by other checks\n"));
}

TEST_CASE("what the last change broke is told, once") {
  const Fresh workbook;
  workbook.solve("first");
  CHECK_FALSE(has(workbook.onepass("grade first").output, "Since the last"));
  write_file(workbook.exercise("first"), kWrong);
  CHECK(has(workbook.onepass("grade first").output,
            "Since the last grading:\n  toy/first: it passed before, and was broken by the last "
            "change.\n"));
  CHECK_FALSE(has(workbook.onepass("grade first").output, "Since the last"));
  // Another folder is not the student's progress.
  workbook.onepass("grade --submission " + (workbook.root() / "solutions").string());
  CHECK(has(workbook.onepass("list").output, "failed; passed before"));
}

TEST_CASE("traffic: what it was and is, and the best so far") {
  const Fresh workbook;
  workbook.solve("first");
  const auto graded = [&](int bytes) {
    workbook.set_measuring(fmt::format(
        R"(echo '{{"event":"traffic","rows":2,"cols":8,"dtype":"fp32","least_bytes":64,)"
        R"("student":{{"requested_bytes":{}}}}}' >> "$EVENTS")"
        "\n{}",
        bytes, Workbook::kEnd));
    return workbook.onepass("grade first").output;
  };
  CHECK_FALSE(has(graded(256), "Since the last"));
  CHECK(has(graded(128), "  toy/first: 16.00 -> 8.00 bytes an element, the best so far.\n"));
  CHECK(has(graded(192), "  toy/first: 8.00 -> 12.00 bytes an element, the best was 8.00.\n"));
  CHECK_FALSE(has(graded(192), "Since the last"));
  CHECK(has(workbook.onepass("list").output, "passed       12.00 bytes an element (best 8.00)\n"));
}

TEST_CASE("a damaged progress is one sentence, is kept beside, and begins anew") {
  const Fresh workbook;
  workbook.solve("first");
  workbook.onepass("grade");
  const fs::path file = workbook.root() / "build/progress.json";
  for (const char* text : {"", "{", "[]", "null", R"({"schema":1,"exercises":{"toy/first":{}}})",
                           R"({"schema":2,"exercises":{}})", R"({"schema":1,"exercises":[7]})"}) {
    INFO(text);
    write_file(file, text);
    const auto outcome = workbook.onepass("list 2>&1 >/dev/null");
    CHECK(outcome.code == 0);
    CHECK(has(outcome.output,
              "build/progress.json is damaged: it is kept as progress.json.damaged-"));
    CHECK(has(outcome.output, "known again once you grade it.\n"));
    CHECK(outcome.output.find('\n') == outcome.output.size() - 1);
    CHECK_FALSE(fs::exists(file));
  }
  CHECK(read_file(workbook.root() / "build/progress.json.damaged-2") == "{");
  workbook.onepass("grade");
  CHECK(has(workbook.onepass("list").output, "5 of 5   passed"));
}

TEST_CASE("a progress that cannot be written takes no verdict away") {
  const Fresh workbook;
  workbook.solve("first");
  fs::create_directories(workbook.root() / "build/progress.lock");
  const auto outcome = workbook.onepass("grade --strict first");
  CHECK(has(outcome.output, "Score: 5 of 5\nAll passed.\n"));
  CHECK(has(outcome.output, "What you have passed could not be noted. "));
  CHECK(outcome.code == 0);
}

TEST_CASE("two gradings at once are both remembered") {
  const Fresh workbook;
  workbook.solve("first");
  workbook.solve("second");
  workbook.onepass(
      fmt::format("grade first & pid=$!; '{}/onepass' --workbook "
                  "'{}/build/onepass.json' grade second && wait $pid",
                  ONEPASS_BINARY_DIR, workbook.root().string()));
  CHECK(has(workbook.onepass("list").output, "Score: 9 of 9"));
}

TEST_CASE("onepass hint opens one more each time, of a TODO at a time") {
  const Fresh workbook;
  CHECK(workbook.onepass("hint").output ==
        "toy/first, TODO 1, hint 1 of 2: where do I start?\n\nTODO 1 is a function.\n\n"
        "The next one: build/onepass hint 1.1 1\n");
  CHECK(workbook.onepass("hint toy/first 1").output ==
        "toy/first, TODO 1, hint 2 of 2: what goes wrong?\n\n41 is wrong.\n\n"
        "That was the last. Read docs/toy.md, \"First\", from its beginning.\n");
  const std::string both = workbook.onepass("hint first").output;  // all are open
  CHECK(has(both, "hint 1 of 2"));
  CHECK(has(both, "hint 2 of 2"));
  CHECK(workbook.onepass("hint first --again").output == both);
  CHECK(workbook.onepass("hint first 2 --again").output ==
        "No hint is open for TODO 2 of toy/first: build/onepass hint 1.1 2 opens the first.\n");
  CHECK(has(workbook.onepass("hint 1.1 2").output, "hint 1 of 2: where do I start?\n\nTODO 2 is"));
}

TEST_CASE("onepass hint is of the TODO at fault, once that is known") {
  const Fresh workbook;
  workbook.set_grader(std::string(R"(
[ "$EXERCISE" = toy/first ] || exit 2
echo '{"event":"check","name":"answers 42","status":"passed"}' >> "$EVENTS"
echo '{"event":"check","name":"answers always","status":"failed","diagnosis":"no-answer"}' >> "$EVENTS"
)") + Workbook::kEnd);
  write_file(workbook.exercise("first"), kWrong);
  CHECK(has(workbook.onepass("grade first").output,
            "(a check of TODO 2 failed)\nStuck? build/onepass explain no-answer, build/onepass "
            "hint 1.1 2\n"));
  CHECK(has(workbook.onepass("hint first").output, "toy/first, TODO 2, hint 1 of 2"));
  CHECK(workbook.onepass("explain").output ==
        "What the last grading of each exercise named first:\n  1.1 toy/first: no-answer\n\n"
        "no-answer (docs/mistakes.md, \"Numbers\")\n\nWhat happened:\nThere is no answer.\n\n"
        "What to do:\nGive one.\n");
}

TEST_CASE("onepass explain") {
  const Fresh workbook;
  CHECK(has(workbook.onepass("explain wrong-answer").output, "What happened:\nIt is `41`.\n"));
}

TEST_CASE("onepass reset keeps the old file beside, and forgets nothing") {
  const Fresh workbook;
  workbook.solve("first");
  const std::string solved = read_file(workbook.exercise("first"));
  CHECK(workbook.onepass("reset 1.1").output ==
        "exercises/01_toy/first.cu is as it was given. What you had is kept as "
        "exercises/01_toy/first.cu.old-1.\n");
  CHECK(read_file(workbook.exercise("first")) == kSkeleton);
  CHECK(workbook.onepass("reset first").output ==
        "exercises/01_toy/first.cu is as it was given.\n");
  write_file(workbook.exercise("first"), kWrong);
  CHECK(has(workbook.onepass("reset first").output, "first.cu.old-2"));
  CHECK(read_file(workbook.exercise("first").string() + ".old-1") == solved);
  CHECK(read_file(workbook.exercise("first").string() + ".old-2") == kWrong);
  fs::remove(workbook.exercise("first"));
  CHECK(workbook.onepass("reset first").output ==
        "exercises/01_toy/first.cu was missing: it is there again, as it was given.\n");
  CHECK(read_file(workbook.exercise("first")) == kSkeleton);
}

TEST_CASE("onepass diff, once passed, and why") {
  const Fresh workbook;
  const auto refused = workbook.onepass("diff first");
  CHECK(refused.code == 2);
  CHECK(refused.output ==
        "toy/first is shown beside the solution once it has passed: build/onepass grade 1.1, or "
        "build/onepass hint 1.1.\n");
  workbook.solve("first");
  workbook.onepass("grade first");
  CHECK(workbook.onepass("diff first").output ==
        "- in exercises/01_toy/first.cu, + in the solution\n\n"
        "line 1:\n"
        "  #include <toy.h>\n"
        "  // TODO 1: define answer(). It\n"
        "  // returns 42.\n"
        "- int answer() { return 40 + 2; }\n"
        "+ int answer() { return 42; }\n"
        "\nWhy the solution does it so:\n\nForty-two is the answer.\n");
  write_file(workbook.exercise("first"), std::string(kSkeleton) + "int answer() { return 42; }\n");
  CHECK(has(workbook.onepass("diff first").output,
            "exercises/01_toy/first.cu is the solution, line by line.\n"));
  fs::remove(workbook.exercise("first"));
  CHECK(has(workbook.onepass("diff first").output, "is missing: build/onepass reset 1.1 brings"));
}

TEST_CASE("of several exercises that fail, the first is told in full") {
  const Fresh workbook;
  write_file(workbook.exercise("first"), kWrong);
  write_file(workbook.exercise("second"), kWrong);
  const std::string some = workbook.onepass("grade").output;
  CHECK(some.find("It answers 41.") == some.rfind("It answers 41."));
  CHECK(has(some, "\ntoy/second\n\n  failed: answers 42 (TODO 1, 4 points)\n\n"));
  const std::string all = workbook.onepass("grade --all").output;
  CHECK(all.find("It answers 41.") != all.rfind("It answers 41."));
}

TEST_CASE("grade --all tells every failure in full") {
  const Fresh workbook;
  workbook.set_grader(std::string(R"(
for name in 'answers 42' 'answers always'; do
  echo "{\"event\":\"check\",\"name\":\"$name\",\"status\":\"failed\",\"message\":\"No: $name.\"}" >> "$EVENTS"
done
)") + Workbook::kEnd);
  write_file(workbook.exercise("first"), kWrong);
  CHECK_FALSE(has(workbook.onepass("grade first").output, "No: answers always."));
  CHECK(has(workbook.onepass("grade first --all").output, "No: answers always."));
}

TEST_CASE("what a kernel printed is shown where it passed too, its beginning") {
  const Fresh workbook;
  workbook.set_grader(std::string(R"(
for name in 'answers 42' 'answers always'; do
  printf '{"event":"check","name":"%s","status":"passed","output":"' "$name" >> "$EVENTS"
  printf '1\\n2\\n3\\n4\\n5\\n6\\n7\\n8\\n9\\n10\\n11\\n12"}\n' >> "$EVENTS"
done
)") + Workbook::kEnd);
  workbook.solve("first");
  const std::string told = "\n  In the check \"answers 42\":\n    Your code printed:\n    1\n";
  const std::string some = workbook.onepass("grade first").output;
  CHECK(has(some, told));
  CHECK(has(some, "    10\n    and 2 more lines: --all tells all\n"));
  CHECK_FALSE(has(some, "answers always"));
  CHECK(has(workbook.onepass("grade first --all").output, "    12\n"));
}

TEST_CASE("what cannot be worked with gets one sentence that says what to do, and exit 2") {
  const Fresh workbook;
  const struct {
    const char* arguments;
    const char* sentence;
  } kCases[] = {
      {"grde", "There is no command grde: did you mean grade?\n"},
      {"frobnicate", "There is no command frobnicate: build/onepass --help lists them all.\n"},
      {"1.1",
       "1.1 is an exercise, and no command: build/onepass grade 1.1 grades it, and build/onepass "
       "--help lists all commands.\n"},
      {"hint frst", "There is no exercise frst: did you mean first?\n"},
      {"hint toy", "Name one exercise: toy/first or toy/second.\n"},
      {"hint first 7", "toy/first has TODO 1, 2, and no TODO 7.\n"},
      {"reset", "Name the exercise, such as build/onepass reset 1.1.\n"},
      {"reset toy", "Name one exercise: toy/first or toy/second.\n"},
      {"diff", "Name the exercise, such as build/onepass diff 1.1.\n"},
      {"explain no-anser", "There is no mistake no-anser: did you mean no-answer?\n"},
      {"explain quite-another",
       "There is no mistake quite-another: docs/mistakes.md lists them all.\n"},
      {"explain",
       "The last grading has named no mistake: name one of docs/mistakes.md, such as build/onepass "
       "explain missing-barrier.\n"},
      {"completion", "Name the shell: bash, zsh or fish.\n"},
      {"completion csh", "There is no completion for csh: choose bash, zsh or fish.\n"},
      {"watch frst", "There is no exercise frst: did you mean first?\n"},
      {"watch --device tpu", "There is no device tpu: choose cpu or gpu.\n"},
  };
  for (const auto& one : kCases) {
    INFO(one.arguments);
    const auto outcome = workbook.onepass(one.arguments);
    CHECK(outcome.code == 2);
    CHECK(outcome.output == one.sentence);
  }
  CHECK(has(workbook.onepass("completion bash").output,
            "    explain) words='no-answer wrong-answer "));
}
