// `onepass grade` as a user meets it: exit codes, sentences, reports.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <map>

#include "driver/files.h"
#include "driver/report.h"
#include "driver/text.h"
#include "process/confinement.h"
#include "tests/driver/workbook.h"

using namespace onepass::driver;
using onepass::driver::test::has;
using onepass::driver::test::Workbook;

TEST_CASE("a right submission passes, and the report says so") {
  const Workbook workbook;
  const auto outcome = workbook.onepass("grade --strict");
  CHECK(outcome.code == 0);
  CHECK(has(outcome.output, "Score: 9 of 9\nAll passed."));
  const Json report = workbook.report("report/exercises");
  CHECK(report["schema"] == 1);
  CHECK(report["complete"] == true);
  CHECK(report["device"]["kind"] == "cpu");
  CHECK(report["seed"] == 1);
  CHECK(report["score"] == 9);
  CHECK(report["max_score"] == 9);
  const Json& exercise = report["exercises"][0];
  CHECK(exercise["id"] == "toy/first");
  CHECK(exercise["status"] == "passed");
  for (const char* key : {"title", "score", "max_score", "checks", "bandwidth", "traffic"}) {
    CHECK(exercise.contains(key));
  }
  for (const char* key :
       {"name", "status", "points", "message", "diagnosis", "error_over_bound", "location"}) {
    CHECK(exercise["checks"][0].contains(key));
  }
}

TEST_CASE("a wrong submission: exit 0 with a score, 1 with --strict, and the next thing to open") {
  const Workbook workbook;
  write_file(workbook.exercise("second"), "int answer() { return 41; }\n");
  const auto outcome = workbook.onepass("grade --seed 7");
  CHECK(outcome.code == 0);
  CHECK(has(outcome.output, "It answers 41."));
  CHECK(has(outcome.output, "Score: 5 of 9"));
  CHECK(has(outcome.output, "Open next: exercises/01_toy/second.cu, TODO 1"));
  CHECK(has(outcome.output, "build/onepass grade --seed 7 toy/second"));
  CHECK_FALSE(has(outcome.output, "\x1b["));  // no colour in a pipe
  CHECK(workbook.onepass("grade --strict").code == 1);
}

TEST_CASE("an exercise that does not compile leaves the others graded") {
  const Workbook workbook;
  write_file(workbook.exercise("first"), "#include <toy.h>\n\nint answer() { return x; }\n");
  const auto outcome = workbook.onepass("grade");
  CHECK(outcome.code == 0);
  CHECK(has(outcome.output, "exercises/01_toy/first.cu:3: 'x' was not declared in this scope"));
  CHECK(has(outcome.output, "Score: 4 of 9"));
  const Json check = workbook.report("report/exercises")["exercises"][0]["checks"][1];
  CHECK(check["status"] == "compile error");
  CHECK(check["location"] == "exercises/01_toy/first.cu:3");
}

TEST_CASE("what lies beside the exercise, or elsewhere in the repository, cannot be included") {
  const Workbook workbook;
  workbook.have_naive();
  write_file(workbook.root() / "exercises/01_toy/mine.h", "");
  write_file(workbook.exercise("first"), "#include \"mine.h\"\nint answer() { return 42; }\n");
  CHECK(has(workbook.onepass("grade --exercise toy/first").output, "first.cu:1: mine.h: No such"));

  const std::string absolute = (workbook.root() / "exercises/01_toy/mine.h").string();
  write_file(workbook.exercise("first"),
             "\n#include \"" + absolute + "\"\nint answer() { return 42; }\n");
  CHECK(has(workbook.onepass("grade --exercise toy/first").output,
            "first.cu:2: an exercise may include only"));
}

TEST_CASE("a header that changes makes a new worker") {
  const Workbook workbook;
  workbook.have_naive();
  CHECK(workbook.onepass("grade").code == 0);
  write_file(workbook.root() / "include/toy.h", "#error changed\n");
  CHECK(has(workbook.onepass("grade").output, "exercises/01_toy/first.cu:1: #error changed"));
}

TEST_CASE("a given header with device code may be included, and makes a new worker if it changes") {
  const Workbook workbook;
  workbook.have_naive();
  const std::string given = workbook.root() / "grader/include";
  const std::string fake = workbook.root() / "build/rewrite";
  const std::string rewriter = ONEPASS_BINARY_DIR "/bin/onepass-rewrite";
  workbook.edit_config(fake, rewriter);
  workbook.edit_config(fake, rewriter + "\", \"" + given);  // of the inputs
  write_file(workbook.root() / "include/cuda_runtime.h", "#define __device__\n");
  const auto grade_with = [&](const std::string& header) {
    write_file(given + "/onepass/tens.h", "#pragma once\n" + header);
    return workbook.onepass("grade first --checks-only").output;
  };
  write_file(workbook.exercise("first"),
             "#include <onepass/tens.h>\n\nint answer() { return tens(4) + 2; }\n");
  CHECK(has(grade_with("template <class T>\n__device__ T tens(T n) { return 10 * n; }\n"),
            "All passed"));
  CHECK(has(grade_with("template <class T>\n__device__ T tens(T n) { return 9 * n; }\n"),
            "It answers 38"));
  CHECK(
      has(grade_with("template <class T>\n__device__ T tens(T n) { return n.x; }\n"),
          "exercises/01_toy/first.cu:3: request for member 'x' in 'n', which is of non-class type "
          "'int' (at onepass/tens.h:3, which this line uses)"));
}

TEST_CASE("an unchanged file is not compiled again") {
  const Workbook workbook;
  const auto made = [&] {
    std::map<std::string, std::filesystem::file_time_type> times;
    for (const auto& entry : std::filesystem::directory_iterator(workbook.root() / "build/cache")) {
      times[entry.path()] = std::filesystem::last_write_time(entry.path() / "worker");
    }
    return times;
  };
  CHECK(workbook.onepass("grade").code == 0);
  const auto before = made();
  CHECK(before.size() == 2);
  CHECK(workbook.onepass("grade").code == 0);
  CHECK(made() == before);
}

TEST_CASE(
    "a grader that ends early leaves the rest ungraded, and that is not the student's fault") {
  const Workbook workbook;
  workbook.set_grader(R"(
echo '{"event":"check","name":"answers 42","status":"passed"}' >> "$EVENTS"
echo 'assertion failed in the reference' >&2
exit 2
)");
  const auto outcome = workbook.onepass("grade --exercise toy/first");
  CHECK(outcome.code == 3);
  CHECK(has(outcome.output, "not yours"));
  CHECK(has(outcome.output, "assertion failed in the reference"));
  const Json exercise = workbook.report("report/exercises")["exercises"][0];
  CHECK(exercise["status"] == "ungraded");
  CHECK(exercise["checks"][0]["status"] == "passed");
  CHECK(exercise["checks"][1]["status"] == "ungraded");
}

TEST_CASE("bad input gets one sentence that says what to do, and exit 2") {
  const Workbook workbook;
  std::filesystem::create_directories(workbook.root() / "empty");
  const std::string root = workbook.root().string();
  const struct {
    std::string arguments;
    std::string sentence;
  } kCases[] = {
      {"grade secnd", "There is no exercise secnd: did you mean second?\n"},
      {"grade --exercise toy/third",
       "There is no exercise toy/third: name a chapter (toy) or an exercise, such as toy/first or "
       "1.1.\n"},
      {"grade --chapter play",
       "There is no chapter play: name a chapter (toy) or an exercise, such as toy/first or "
       "1.1.\n"},
      {"grade --device tpu", "There is no device tpu: choose cpu or gpu.\n"},
      {"grade --device gpu",
       "Cannot grade on a GPU: there is no CUDA toolkit (nvcc). Use --device cpu, or mend that and "
       "run cmake again.\n"},
      {"grade --submission " + root + "/empty",
       root + "/empty is no submission, it holds no file such as 01_toy/first.cu: give a folder "
              "laid out like exercises/.\n"},
      {"grade --submission " + root + "/nowhere",
       "There is no folder " + root + "/nowhere: give one that is laid out like exercises/.\n"},
  };
  for (const auto& one : kCases) {
    const auto outcome = workbook.onepass(one.arguments);
    CHECK(outcome.code == 2);
    CHECK(outcome.output == one.sentence);
  }
}

TEST_CASE("so does what is no command line") {
  const Workbook workbook;
  const struct {
    const char* arguments;
    const char* sentence;
  } kCases[] = {
      {"grade --sumbission x", "grade has no option --sumbission: did you mean --submission?"},
      {"grade --sed=3", "grade has no option --sed: did you mean --seed?"},
      {"grade -x", "grade has no option -x: build/onepass grade --help lists its options."},
      {"grade --seed abc",
       "--seed takes a whole number from 0 to 9223372036854775807, and not abc."},
      {"grade --seed -1", "--seed takes a whole number from 0 to 9223372036854775807, and not -1."},
      {"watch --seed 1.5",
       "--seed takes a whole number from 0 to 9223372036854775807, and not 1.5."},
      {"grade --seed", "--seed needs a value: build/onepass grade --help says what grade takes."},
      {"grade --all=no", "--all takes no value: build/onepass grade --help says what grade takes."},
      {"grade --time-limit 0", "--time-limit takes a number above 0, and not 0."},
      {"map --dtype fp8", "--dtype takes fp32, fp16 or bf16, and not fp8."},
      {"map --rows 0", "--rows takes a whole number from 1 to 2147483647, and not 0."},
      {"hint first x", "todo takes a whole number from 1 to 99, and not x."},
      {"list 1.1", "1.1 is one word too many: build/onepass list --help says what list takes."},
      {"build", "file is missing: build/onepass build --help says what build takes."},
      {"--seed 3 grade",
       "There is no option --seed before the command: options come behind it, and build/onepass "
       "--help lists all commands."},
  };
  for (const auto& one : kCases) {
    INFO(one.arguments);
    const auto outcome = workbook.onepass(one.arguments);
    CHECK(outcome.code == 2);
    CHECK(outcome.output == std::string(one.sentence) + "\n");
  }
  for (const char* question : {"--help", "grade --help", "grade -h 1.1"}) {
    const auto outcome = workbook.onepass(question);
    CHECK(outcome.code == 0);
    CHECK(has(outcome.output, "Usage: "));
  }
}

TEST_CASE("exercises are named as words, in any order, and by the options that scripts use") {
  const Workbook workbook;
  for (const char* words :
       {"1.2 first", "second toy/first", "1", "exercises/01_toy/",
        "--exercise 1.2 --exercise first", "--exercise second 1.1", "--chapter toy", ""}) {
    const auto outcome = workbook.onepass(std::string("grade ") + words);
    INFO(words);
    CHECK(has(outcome.output,
              "toy/first     5 of 5   passed         The first\n"
              "toy/second    4 of 4   passed         The second\n"));
  }
  CHECK(has(workbook.onepass("grade --seed 3 second.cu --strict").output, "Score: 4 of 4"));
}

TEST_CASE("the line that repeats a check is right for a shell, whatever the folder is called") {
  const Workbook workbook;
  write_file(workbook.root() / "ada's work/01_toy/first.cu", "int answer() { return 41; }\n");
  write_file(workbook.root() / "ada's work/01_toy/second.cu", "int answer() { return 42; }\n");
  const auto outcome = workbook.onepass(
      fmt::format("grade --submission \"{}/ada's work\"", workbook.root().string()));
  CHECK(has(outcome.output,
            "Replay: build/onepass grade --submission 'ada'\\''s work' --seed 1 toy/first\n"));
}

TEST_CASE("a missing exercise file leaves the others graded, and has a status of its own") {
  const Workbook workbook;
  std::filesystem::remove(workbook.exercise("first"));
  const auto outcome = workbook.onepass("grade");
  CHECK(outcome.code == 0);
  CHECK(has(outcome.output,
            "toy/first     0 of 5   missing        The first\n"
            "toy/second    4 of 4   passed         The second\n\n"
            "toy/first\n\n"
            "  exercises/01_toy/first.cu is missing: put it back, or begin it anew with "
            "build/onepass reset 1.1.\n\n"
            "Score: 4 of 9\n"
            "Bring back next: exercises/01_toy/first.cu\n"));
  const Json exercise = workbook.report("report/exercises")["exercises"][0];
  CHECK(exercise["status"] == "missing");
  CHECK(exercise["checks"][1]["status"] == "missing");
  CHECK(workbook.onepass("grade --strict").code == 1);
  CHECK(workbook.onepass("grade --strict second").code == 0);
}

TEST_CASE("a submission with a file or a chapter missing is graded on the rest") {
  const Workbook workbook;
  const std::string ada = (workbook.root() / "ada").string();
  write_file(ada + "/01_toy/second.cu", "int answer() { return 42; }\n");
  std::filesystem::create_directories(ada + "/01_toy/first.cu");
  CHECK(has(workbook.onepass("grade --submission " + ada).output,
            "  ada/01_toy/first.cu is no regular file: put one there.\n"));
  std::filesystem::remove(ada + "/01_toy/first.cu");
  const auto outcome = workbook.onepass("grade --submission " + ada);
  CHECK(outcome.code == 0);
  CHECK(has(outcome.output,
            "  ada/01_toy/first.cu is missing: a submission has the exercise under "
            "this name.\n"));
  CHECK(has(outcome.output, "Score: 4 of 9\n"));
}

TEST_CASE("no check is run after one that fails by the mistake that is asked for, or by any") {
  const Workbook workbook;
  workbook.set_grader(std::string(R"(
while read -r name; do
  printf '{"event":"check","name":"%s","status":"failed","diagnosis":"no-answer"}\n' "$name"
done < /dev/fd/4 >> "$EVENTS"
)") + Workbook::kEnd);
  const auto status_of_second = [&](const std::string& until) {
    workbook.onepass("grade toy/first --no-experiments --until " + until);
    return workbook.report("report/exercises")["exercises"][0]["checks"][1]["status"];
  };
  CHECK(status_of_second("no-answer") == "not run");
  CHECK(status_of_second("failure") == "not run");
  CHECK(status_of_second("another") == "failed");
}

TEST_CASE("if no exercise asked for has its file, that is bad input") {
  const Workbook workbook;
  std::filesystem::remove(workbook.exercise("first"));
  const std::string sentence =
      "exercises/01_toy/first.cu is missing: put it back, or begin it anew with build/onepass "
      "reset 1.1.\n";
  for (const char* command : {"grade first", "map first", "measure first --rows 1 --cols 2"}) {
    const auto outcome = workbook.onepass(command);
    CHECK(outcome.code == 2);
    CHECK(outcome.output == sentence);
  }
  std::filesystem::remove_all(workbook.root() / "exercises");
  const auto outcome = workbook.onepass("grade");
  CHECK(outcome.code == 2);
  CHECK(outcome.output == "None of these exercises can be graded. " + sentence);
}

TEST_CASE("no compiler") {
  const Workbook workbook;
  workbook.edit_config(ONEPASS_CXX_COMPILER, "/nowhere/g++");
  const auto outcome = workbook.onepass("grade");
  CHECK(outcome.code == 3);
  CHECK(has(outcome.output, "There is no compiler at /nowhere/g++ any more"));
}

TEST_CASE("a device that turns out not to work") {
  const Workbook workbook;
  workbook.set_grader(
      R"(echo '{"event":"unavailable","reason":"The driver finds no GPU: use --device cpu."}' >> "$EVENTS"
exit 2
)");
  const auto outcome = workbook.onepass("grade");
  CHECK(outcome.code == 2);
  CHECK(outcome.output == "The driver finds no GPU: use --device cpu.\n");
}

TEST_CASE("what is passed is measured, beside the naive version and the solution") {
  const Workbook workbook;
  const std::string root = workbook.root().string();
  write_file(root + "/naive.cu", "int answer() { return 1; }\n");
  write_file(root + "/solutions/01_toy/first.cu", "int answer() { return 42; }\n");
  workbook.edit_config("\"naive\": \"\"", "\"naive\": \"" + root + "/naive.cu\"");
  write_file(workbook.exercise("second"), "int answer() { return 41; }\n");
  workbook.set_measuring("echo \"$@\" >> " + root + R"(/calls
echo '{"event":"traffic","rows":2,"cols":8,"dtype":"fp32","least_bytes":128}' >> "$EVENTS"
)" + Workbook::kEnd);
  CHECK(workbook.onepass("grade").code == 0);
  const std::string calls = read_file(root + "/calls");
  CHECK(has(calls, "--exercise toy/first --worker"));
  CHECK(has(calls, "--naive"));
  CHECK(has(calls, "--reference"));
  CHECK_FALSE(has(calls, "toy/second"));
  const Json report = workbook.report("report/exercises");
  CHECK(report["exercises"][0]["traffic"][0]["rows"] == 2);
  CHECK(report["exercises"][1]["traffic"].empty());

  CHECK(workbook.onepass("grade --checks-only").code == 0);
  CHECK(read_file(root + "/calls") == calls);
}

TEST_CASE("on the simulator the verdict does not wait for what is counted") {
  const Workbook workbook;
  const std::string root = workbook.root().string();
  workbook.set_measuring("cp " + root + "/screen " + root + "/seen\n" + Workbook::kEnd);
  CHECK(workbook.onepass("grade > " + root + "/screen").code == 0);
  const std::string seen = read_file(root + "/seen");
  CHECK(has(seen, "toy/second    4 of 4   passed"));
  CHECK_FALSE(has(seen, "Score"));
}

TEST_CASE("the naive version and the solution are compiled when they are first needed") {
  const Workbook workbook;
  const std::string root = workbook.root().string();
  SUBCASE("the naive version") {
    write_file(root + "/naive.cu", "#error is compiled\n");
    workbook.edit_config("\"naive\": \"\"", "\"naive\": \"" + root + "/naive.cu\"");
  }
  SUBCASE("the solution") {
    write_file(root + "/solutions/01_toy/first.cu", "#error is compiled\n");
  }
  CHECK(workbook.onepass("grade first --checks-only").code == 0);
  CHECK(has(workbook.onepass("grade first").output, "#error is compiled"));
  write_file(workbook.exercise("first"), "int answer() { return 41; }\n");
  CHECK(workbook.onepass("grade first").code == 0);
}

TEST_CASE("a grader that fails while it measures takes no verdict away") {
  const Workbook workbook;
  workbook.set_measuring("echo oops >&2; exit 2\n");
  const auto outcome = workbook.onepass("grade --strict first");
  CHECK(outcome.code == 0);
  CHECK(has(outcome.output, "toy/first was not measured: "));
  CHECK(has(outcome.output, "exited with 2: grade again.\noops"));
}

TEST_CASE("two runs at once in one build folder") {
  const Workbook workbook;
  const auto outcome = workbook.onepass(
      fmt::format("grade --strict & pid=$!; '{}/onepass' --workbook '{}/build/onepass.json' grade "
                  "--strict && wait $pid",
                  ONEPASS_BINARY_DIR, workbook.root().string()));
  CHECK(outcome.code == 0);
  CHECK(workbook.report("report/exercises")["score"] == 9);
}

TEST_CASE("what confines a submission is told, and where a part is missing, said") {
  const Workbook workbook;
  const auto outcome = workbook.onepass("grade");
  const Json confinement = workbook.report("report/exercises")["confinement"];
  CHECK(confinement["landlock"] == onepass::process::landlock_version());
  CHECK(confinement["gaps"].empty() == !has(outcome.output, "Not all that confines"));
  CHECK(workbook.onepass("grade --require-confinement").code ==
        (confinement["gaps"].empty() ? 0 : 2));
}

#ifdef ONEPASS_WITHOUT_LANDLOCK
TEST_CASE("a kernel without Landlock: graded, with a sentence, unless confinement is required") {
  const std::string without = std::string("'") + ONEPASS_WITHOUT_LANDLOCK + "'";
  const Workbook workbook;
  const auto graded = workbook.onepass("grade", without);
  CHECK(graded.code == 0);
  CHECK(has(graded.output, "Not all that confines a submission is there. Landlock is not "));
  CHECK(has(graded.output, "Score: 9 of 9"));
  const Json confinement = workbook.report("report/exercises")["confinement"];
  CHECK(confinement["landlock"] == 0);
  CHECK(confinement["gaps"].size() == 1);
  const auto refused = workbook.onepass("grade --require-confinement", without);
  CHECK(refused.code == 2);
  CHECK(has(refused.output, "Nothing is graded, because of --require-confinement: Landlock is"));
}
#endif
