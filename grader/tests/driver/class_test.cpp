// `onepass class`: a class as an instructor has it, with all that can be wrong in it.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "driver/files.h"
#include "process/process.h"
#include "tests/driver/workbook.h"

using namespace onepass::driver;
using onepass::driver::test::has;
using onepass::driver::test::Workbook;
namespace fs = std::filesystem;

namespace {

constexpr const char* kRight = "int answer() { return 42; }\n";
constexpr const char* kWrong = "int answer() { return 41; }\n";

struct Class {
  Class() { fs::create_directories(folder); }

  void submit(const std::string& student, const std::string& exercise,
              const std::string& text) const {
    write_file(folder / student / "01_toy" / (exercise + ".cu"), text);
  }
  void submit_both(const std::string& student, const std::string& text) const {
    submit(student, "first", text);
    submit(student, "second", text);
  }
  // A command of the shell, among the submissions.
  void shell(const std::string& command) const {
    const std::string whole = "cd '" + folder.string() + "' && " + command;
    const auto result = onepass::process::run({{"/bin/sh", "-c", whole}}, 60);
    INFO(result.output);
    REQUIRE(result.succeeded());
  }
  Workbook::Outcome grade(const std::string& more = "", const std::string& before = "") const {
    return workbook.onepass(
        fmt::format("class '{}' --out '{}' {}", folder.string(), out.string(), more), before);
  }
  // The option for a policy of this text.
  std::string by(const std::string& policy) const {
    const fs::path file = workbook.root() / "policy.json";
    write_file(file, policy);
    return fmt::format("--policy '{}'", file.string());
  }
  std::string result(const std::string& file) const { return read_file(out / file); }
  Json report(const std::string& student) const {
    return Json::parse(result("reports/" + student + ".json"));
  }
  // From now on each grading of a file is noted.
  void count_gradings(const std::string& first = "") const {
    workbook.set_grader(fmt::format(R"({}
"$WORKER"; answer=$?
echo "$EXERCISE $answer" >> {}/graded
status=passed; [ $answer = 42 ] || status=failed
printf '{{"event":"check","name":"answers 42","status":"%s"}}\n' $status >> "$EVENTS"
[ "$EXERCISE" = toy/second ] ||
  printf '{{"event":"check","name":"answers always","status":"passed"}}\n' >> "$EVENTS"
)",
                                    first, workbook.root().string()) +
                        Workbook::kEnd);
  }
  std::size_t gradings() const {
    std::error_code error;
    if (!fs::exists(workbook.root() / "graded", error)) {
      return 0;
    }
    const std::string text = read_file(workbook.root() / "graded");
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  }

  Workbook workbook;
  fs::path folder = workbook.root() / "submissions";
  fs::path out = workbook.root() / "results";
};

}  // namespace

TEST_CASE("folders and archives, whole and broken: each costs its own student at most") {
  const Class all;
  all.submit_both("ada", kRight);
  all.submit("bob", "second", kRight);
  all.submit("eve", "first", "int main(\n");
  all.submit("eve", "second", kWrong);
  all.submit_both("fay/homework/exercises", kRight);
  all.submit_both("fay/homework/solutions", kWrong);
  all.shell("mkdir empty; echo no > hal.tar.gz; echo a note > notes.txt");
  all.shell("tar czf ida.tgz -C ada . && tar cf jan.tar ada");
  const auto outcome = all.grade();
  INFO(outcome.output);
  CHECK(outcome.code == 0);
  CHECK(has(outcome.output, "ada            9    2 of 2\n"));
  CHECK(has(outcome.output, "bob            4    1 of 2  1 missing\n"));
  CHECK(has(outcome.output, "eve            0    0 of 2  1 compile error\n"));
  CHECK(has(outcome.output, "fay            9    2 of 2\n"));
  CHECK(has(outcome.output, "hal            0    0 of 2  The archive is damaged, or no archive"));
  CHECK(
      has(outcome.output, "empty          0    0 of 2  It holds no file such as 01_toy/first.cu"));
  CHECK(has(outcome.output, "ida            9    2 of 2\n"));
  CHECK(has(outcome.output, "jan            9    2 of 2\n"));
  CHECK(has(outcome.output, "\nnotes.txt is neither a folder nor an archive: passed over.\n"));
  CHECK(has(all.result("class.csv"), "bob,4,9,4,1,,complete,,0,4\r\n"));
  CHECK(all.report("ada")["complete"] == true);
  CHECK(all.report("ada")["student"] == "ada");
  CHECK(all.report("ada").contains("commit"));
  CHECK(all.report("bob")["exercises"][0]["status"] == "missing");
}

TEST_CASE("a zip") {
  if (!onepass::process::run({{"zip", "-h"}}, 10).succeeded() ||
      !onepass::process::run({{"unzip", "-h"}}, 10).succeeded()) {
    MESSAGE("no zip here");
    return;
  }
  const Class all;
  all.submit_both("ada [1]", kRight);
  all.shell("zip -qr bob.zip 'ada [1]' && rm -r 'ada [1]'; echo no > gus.zip");
  const auto outcome = all.grade();
  INFO(outcome.output);
  CHECK(has(outcome.output, "bob            9    2 of 2\n"));
  CHECK(has(outcome.output, "gus            0    0 of 2  The archive is damaged, or no archive"));
}

TEST_CASE("an archive writes nothing, and its links, its names and its size are no way out") {
  const Class all;
  all.shell(
      "mkdir -p x/01_toy && cd x && ln -s ../../../exercises/01_toy/first.cu 01_toy/first.cu"
      " && echo 'int answer() { return 42; }' > 01_toy/second.cu && tar cf ../links.tar . &&"
      " tar cPf ../up.tar --transform='s,^,../../up/,' 01_toy/second.cu &&"
      " tar cPf ../root.tar --transform='s,^,/tmp/onepass-root/,' 01_toy/second.cu &&"
      " tar cf ../twice.tar 01_toy/second.cu && tar rf ../twice.tar 01_toy/second.cu &&"
      " head -c 1100000 /dev/zero > 01_toy/second.cu && tar czf ../large.tgz 01_toy &&"
      " cd .. && rm -r x && truncate -s 65M huge.tar");
  const auto outcome = all.grade();
  INFO(outcome.output);
  CHECK(outcome.code == 0);
  CHECK(has(outcome.output, "links          4    1 of 2  1 missing\n"));
  CHECK(has(outcome.output, "twice          0    0 of 2  2 missing\n"));
  CHECK(has(outcome.output, "large          0    0 of 2  2 missing\n"));
  CHECK(has(outcome.output, "huge           0    0 of 2  The archive is larger than 64 MiB"));
  CHECK(has(outcome.output, "up             4    1 of 2  1 missing\n"));
  CHECK(has(outcome.output, "root           4    1 of 2  1 missing\n"));
  CHECK_FALSE(fs::exists("/tmp/onepass-root"));
  CHECK_FALSE(fs::exists(all.workbook.root() / "up"));
  CHECK(has(all.result("feedback/twice.md"), "is in the archive more than once: keep one."));
  CHECK(has(all.result("feedback/large.md"), "is larger than 1 MiB"));
}

TEST_CASE("the same file is graded once, whoever it is by, and what is graded stays so") {
  const Class all;
  all.count_gradings();
  all.submit_both("ada", kRight);
  all.submit_both("bob", kRight);
  all.submit("cy", "first", kWrong);
  CHECK(all.grade().code == 0);
  CHECK(all.gradings() == 3);
  CHECK(all.grade().code == 0);
  CHECK(all.gradings() == 3);
  all.submit("bob", "second", kWrong);  // handed in once more
  const auto outcome = all.grade();
  CHECK(all.gradings() == 4);
  CHECK(has(outcome.output, "bob            5    1 of 2\n"));
  CHECK(all.grade("--seed 2").code == 0);
  CHECK(all.gradings() == 8);
}

TEST_CASE("an experiment that comes to the same file is made once, whoever it is for") {
  const Class all;
  const auto file = [](int tens, int ones, const char* mark = "// ") {
    const auto part = [&](int todo, const char* name, int value) {
      const std::string code = fmt::format("  result = {};\n", value);
      return fmt::format(
          "int {0}() {{\n  int result = 0;\n  // TODO {1}: {0}.\n{2}  return result;\n}}\n", name,
          todo,
          *mark == '/' ? code : fmt::format("  // [solution {}]\n{}  // [end]\n", todo, code));
    };
    return "#include <toy.h>\n" + part(1, "tens", tens) + part(2, "ones", ones) +
           "int answer() { return 10 * tens() + ones(); }\n";
  };
  write_file(all.workbook.root() / "solutions/01_toy/first.cu", file(4, 2, ""));
  all.count_gradings();
  all.submit("ada", "first", file(5, 2));
  all.submit("bob", "first", file(4, 3));
  all.submit("cy", "first", file(4, 9));
  const auto outcome = all.grade("--jobs 1");
  INFO(outcome.output);
  CHECK(has(all.result("feedback/cy.md"), "The fault is in TODO 2"));
  CHECK(has(all.result("feedback/ada.md"), "The fault is in TODO 1"));
  // Three files, what is wrong in each of them, and once what is right.
  CHECK(all.gradings() == 7);
}

TEST_CASE("killed at any point, or interrupted, it goes on where it was") {
  const Class all;
  all.count_gradings("[ \"$EXERCISE\" = toy/second ] && sleep ${SLOW:-0}");
  all.submit_both("ada", kRight);
  all.submit("bob", "first", kWrong);
  const auto grade = [&](const char* signal) {
    return all.workbook.onepass(
        fmt::format("class '{}' --jobs 1 --out '{}' & pid=$!; sleep 3; kill -{} $pid; wait $pid",
                    all.folder.string(), all.out.string(), signal),
        "SLOW=30");
  };
  CHECK(grade("KILL").code == 137);
  CHECK(all.gradings() == 1);
  const auto interrupted = grade("INT");
  INFO(interrupted.output);
  CHECK(interrupted.code == 130);
  CHECK(has(interrupted.output, "ada            5    1 of 2  not graded yet\n"));
  CHECK(has(interrupted.output, "the same command goes on from here"));
  CHECK(has(all.result("class.csv"), "ada,,9,5,1,,not graded yet,,5,0\r\n"));
  CHECK(all.gradings() == 1);
  CHECK(all.grade().code == 0);
  CHECK(all.gradings() == 3);
  CHECK(all.report("ada")["complete"] == true);
}

TEST_CASE("what is no fault of a student's is nobody's, and is tried again") {
  const Class all;
  all.submit_both("ada", kRight);
  all.workbook.set_grader("[ \"$EXERCISE\" = toy/second ] && exit 9\n" +
                          std::string(Workbook::kEnd));
  const auto outcome = all.grade();
  INFO(outcome.output);
  CHECK(outcome.code == 3);
  CHECK(has(outcome.output, "ungraded"));
  CHECK(has(outcome.output, "the same command tries that again"));
  CHECK(has(all.result("feedback/ada.md"), "through no fault of yours: ask your instructor"));
  CHECK_FALSE(has(all.result("feedback/ada.md"), "grade-toy"));
}

TEST_CASE("a student is told no path, no seed and no more than the policy says") {
  const Class all;
  all.workbook.set_grader(fmt::format(R"(
printf '{{"event":"check","name":"answers 42","status":"failed","message":"<b>Wrong, %s` in {0}/include/toy.h\\nmore","output":"I saw 7"}}\n' '```' >> "$EVENTS"
)",
                                      all.workbook.root().string()) +
                          Workbook::kEnd);
  all.submit_both("<i>eve=1*", kWrong);
  const auto graded = [&](const std::string& policy) {
    const auto outcome = all.grade(all.by(policy));
    INFO(outcome.output);
    CHECK(outcome.code == 3);  // one check is not told by this grader
    return all.result("feedback/<i>eve=1*.md") + all.result("feedback/<i>eve=1*.html") +
           all.result("gradescope/<i>eve=1*.json");
  };
  const std::string messages = graded(R"({"seeds": [987654]})");
  CHECK(has(messages, "Wrong, "));
  CHECK(has(messages, "in include/toy.h"));
  CHECK_FALSE(has(messages, all.workbook.root().string()));
  CHECK_FALSE(has(messages, "987654"));
  CHECK_FALSE(has(messages, "I saw 7"));
  CHECK_FALSE(has(messages, "<h1>One Pass: <i>"));
  CHECK(has(messages, "<h1>One Pass: &lt;i&gt;eve=1*</h1>"));
  CHECK(has(messages, "# One Pass: \\<i\\>eve=1\\*"));
  CHECK(has(messages, "````text"));
  CHECK(has(graded(R"({"seeds": [987654], "students_see": "output"})"), "I saw 7"));
  const std::string checks = graded(R"({"seeds": [987654], "students_see": "checks"})");
  CHECK(has(checks, "answers 42"));
  CHECK_FALSE(has(checks, "Wrong, "));
  CHECK_FALSE(has(graded(R"({"seeds": [987654], "students_see": "score"})"), "answers 42"));
  CHECK(has(all.result("reports/<i>eve=1*.json"), "987654"));
}

TEST_CASE("points, exercises and seeds of a policy") {
  const Class all;
  all.count_gradings("[ \"$8\" = 78 ] && WORKER=false");
  all.submit_both("ada", kRight);
  const auto graded = [&](const std::string& policy) {
    const auto outcome = all.grade(all.by(policy));
    INFO(outcome.output);
    CHECK(outcome.code == 0);
    return outcome.output;
  };
  CHECK(has(graded(R"({"out_of": 100})"), "ada          100    2 of 2\n"));
  CHECK(has(graded(R"({"weights": {"toy/second": 2.5}})"), "ada           15    2 of 2\n"));
  CHECK(has(graded(R"({"exercises": ["1.2"]})"), "ada            4    1 of 1\n"));
  CHECK(all.gradings() == 2);
  CHECK(has(graded(R"({"seeds": [77, 78]})"), "ada            3    0 of 2\n"));
  CHECK(all.gradings() == 6);
  CHECK(has(graded(R"({"deadline": "2020-01-01T00:00:00Z"})"), " h late\n"));
}

TEST_CASE("what is wrong with a policy is told in a sentence") {
  const Class all;
  all.submit_both("ada", kRight);
  const auto refused = [&](const std::string& policy, const std::string& sentence) {
    const auto outcome = all.grade(all.by(policy));
    INFO(policy);
    INFO(outcome.output);
    CHECK(outcome.code == 2);
    CHECK(has(outcome.output, "policy.json" + sentence));
    CHECK(std::count(outcome.output.begin(), outcome.output.end(), '\n') == 1);
  };
  refused("{\"seeds\": 1", " is no JSON at byte 12.");
  refused("[]", " has to be a JSON object");
  refused(R"({"weigths": {}})", ": there is no field weigths: did you mean weights?");
  refused(R"({"seeds": 7})", ": seeds has to be a list of whole numbers, such as [20, 77].");
  refused(R"({"seeds": [-1]})", ": seeds has to be a list of whole numbers");
  refused(R"({"weights": {"third": 1}})",
          ": weights names what is not there. There is no exercise");
  refused(R"({"weights": {"first": -1}})", ": weights has to be a number, 0 or more.");
  refused(R"({"exercises": ["third"]})", ": exercises names what is not there.");
  refused(R"({"device": "tpu"})", ": device has to be one of \"cpu\", \"gpu\".");
  refused(R"({"students_see": "all"})", ": students_see has to be one of \"score\", ");
  refused(R"({"deadline": "tomorrow"})", ": deadline has to be a time in UTC, such as");
  refused(R"({"measure": 1})", ": measure has to be true or false.");
  refused(R"({"out_of": 0})", ": out_of has to be a number above 0.");
#ifdef ONEPASS_WITHOUT_LANDLOCK
  const auto unconfined = all.grade(all.by(R"({"require_confinement": true})"),
                                    std::string("'") + ONEPASS_WITHOUT_LANDLOCK + "'");
  CHECK(unconfined.code == 2);
  CHECK(has(unconfined.output, "Nothing is graded, because of"));
#endif
  const auto outcome = all.grade("--policy nowhere.json");
  CHECK(has(outcome.output, "There is no policy nowhere.json.\n"));
}

TEST_CASE("parts of a class, and their merge") {
  const Class all;
  all.count_gradings();
  for (const char* student : {"ada", "bob", "cy"}) {
    all.submit_both(student, fmt::format("// {}\n{}", student, kRight));
  }
  CHECK(all.grade("--shard 2/2").code == 0);
  CHECK(all.gradings() == 2);
  CHECK_FALSE(fs::exists(all.out / "class.csv"));
  const auto early = all.grade("--merge");
  CHECK(early.code == 3);
  CHECK(has(early.output, "2 of 3 students are not graded yet: run the parts that they are in."));
  CHECK(all.grade("--shard 1/2").code == 0);
  CHECK(all.gradings() == 6);
  const auto merged = all.grade("--merge");
  CHECK(merged.code == 0);
  CHECK(all.gradings() == 6);
  CHECK(has(all.result("class.csv"), "cy,9,9,9,2,,complete,,5,4\r\n"));
  for (const char* wrong : {"0/2", "3/2", "2", "a/b"}) {
    CHECK(all.grade(std::string("--shard ") + wrong).code == 2);
  }
}

TEST_CASE("what Gradescope, a CI and a spreadsheet read") {
  const Class all;
  all.submit("=cmd", "first", kWrong);
  all.submit("=cmd", "second", kRight);
  CHECK(all.grade().code == 0);
  CHECK(has(all.result("class.csv"), "\r\n'=cmd,7,9,7,1,,complete,,3,4\r\n"));
  const Json results = Json::parse(all.result("gradescope/=cmd.json"));
  CHECK(results["score"] == 7.0);
  REQUIRE(results["tests"].size() == 3);
  double sum = 0;
  for (const Json& test : results["tests"]) {
    sum += test["score"].get<double>();
    CHECK((test["status"] == "passed" || test["status"] == "failed"));
    CHECK(test["visibility"] == "visible");
    CHECK(test["output_format"] == "text");
    CHECK(test["score"] <= test["max_score"]);
  }
  CHECK(sum == doctest::Approx(7.0));
  CHECK(has(results["tests"][0]["output"].get<std::string>(), "It answers 41."));
  const std::string junit = all.result("junit.xml");
  CHECK(has(junit, "<testsuite name=\"=cmd\" tests=\"3\" failures=\"1\" errors=\"0\""));
  CHECK(has(junit, "<failure type=\"failed\" message=\"It answers 41.\"/>"));
}

TEST_CASE("folders that cannot be graded, and results that cannot lie where they are to") {
  const Class all;
  CHECK(has(all.grade().output, "holds no submission: a folder or an archive"));
  all.submit_both("ada", kRight);
  const auto inside =
      all.workbook.onepass(fmt::format("class '{0}' --out '{0}/results'", all.folder.string()));
  CHECK(inside.code == 2);
  CHECK(has(inside.output, "The results cannot lie among the submissions"));
  CHECK(all.workbook.onepass("class nowhere --out x").code == 2);
}
