#include "tests/driver/workbook.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include "process/process.h"

namespace onepass::driver::test {
namespace fs = std::filesystem;

namespace {

constexpr const char* kList = R"(
{"chapter": "toy", "exercises": [
 {"id": "toy/first", "title": "The first", "docs": "docs/toy.md, \"First\"",
  "checks": [{"name": "answers 42", "points": 2, "todo": 1},
             {"name": "answers always", "points": 3, "todo": 2}]},
 {"id": "toy/second", "title": "The second", "docs": "docs/toy.md, \"Second\"",
  "checks": [{"name": "answers 42", "points": 4, "todo": 1}]}]}
)";

// Passes the check "answers 42" if the worker does, and all others.
constexpr const char* kHonestGrader = R"(
"$WORKER"; answer=$?
status=passed; [ $answer = 42 ] || status=failed
printf '{"event":"check","name":"answers 42","status":"%s","message":"It answers %s."}\n' \
  $status $answer >> "$EVENTS"
[ "$EXERCISE" = toy/second ] ||
  printf '{"event":"check","name":"answers always","status":"passed"}\n' >> "$EVENTS"
)";

void write_script(const fs::path& file, const std::string& text) {
  write_file(file, "#!/bin/sh\n" + text);
  chmod(file.c_str(), 0755);
}

}  // namespace

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

Workbook::Workbook() : folder_(fs::temp_directory_path()) {
  for (const char* name : {"first", "second"}) {
    write_file(exercise(name), "#include <toy.h>\nint answer() { return 42; }\n");
  }
  write_file(root() / "include/toy.h", "int answer();\n");
  write_file(root() / "binding.cpp", "#include ONEPASS_SUBMISSION\n");
  write_file(root() / "main.cpp", "int answer();\nint main() { return answer(); }\n");
  write_file(root() / "build/rewrite", "");
  write_script(root() / "build/rewrite", "{ echo \"#line 1 \\\"$4\\\"\"; cat \"$1\"; } > \"$2\"\n");
  set_measuring(kEnd);

  const auto exercise_json = [&](const char* name) {
    return fmt::format(
        R"({{"id": "toy/{0}", "file": "{0}.cu", "binding": "{1}/binding.cpp", "naive": ""}})", name,
        root().string());
  };
  write_file(root() / "build/onepass.json",
             fmt::format(R"text({{"source": "{0}", "build": "{0}/build",
 "chapters": [{{"name": "toy", "folder": "01_toy",
   "grader": "{0}/build/grade-toy", "exercises": [{1}, {2}]}}],
 "cpu": {{"compiler": "{3}", "rewriter": "{0}/build/rewrite",
   "compile_flags": ["-I{0}/include"], "link_flags": ["{0}/main.cpp"],
   "inputs": ["{0}/build/rewrite", "{0}/include", "{0}/main.cpp"], "allowed": ["{0}/include", "/usr/include", "/usr/lib"]}},
 "gpu": null, "gpu_code": null, "gpu_reason": "there is no CUDA toolkit (nvcc)"}})text",
                         root().string(), exercise_json("first"), exercise_json("second"),
                         ONEPASS_CXX_COMPILER));
}

fs::path Workbook::exercise(const std::string& name) const {
  return root() / "exercises/01_toy" / (name + ".cu");
}

void Workbook::set_grader(const std::string& commands, const std::string& measuring) const {
  write_script(root() / "build/grade-toy", fmt::format(R"(
if [ "$1" = --list ]; then
cat <<'LIST'
{}LIST
exit
fi
EXERCISE=$2 WORKER=$4 EVENTS=${{10}}
case " $* " in *" --measure "*)
{}exit
esac
{})",
                                                       kList + 1, measuring, commands));
}

void Workbook::set_measuring(const std::string& commands) const {
  set_grader(std::string(kHonestGrader) + kEnd, commands);
}

Workbook::Outcome Workbook::onepass(const std::string& arguments, const std::string& before) const {
  const std::string command = fmt::format("{} '{}/onepass' --workbook '{}/build/onepass.json' {}",
                                          before, ONEPASS_BINARY_DIR, root().string(), arguments);
  const process::Result result = process::run({{"/bin/sh", "-c", command}}, 300);
  REQUIRE(result.end == process::Result::End::exited);
  return {result.code, result.output};
}

Json Workbook::report(const std::string& name) const {
  return Json::parse(read_file(root() / "build" / (name + ".json")));
}

void Workbook::have_naive() const {
  write_file(root() / "naive.cu", "int answer() { return 0; }\n");
  Json config = report("onepass");
  for (Json& exercise : config["chapters"][0]["exercises"]) {
    exercise["naive"] = (root() / "naive.cu").string();
  }
  write_file(root() / "build/onepass.json", config.dump());
}

void Workbook::pretend_gpu() const {
  Json config = report("onepass");
  config["gpu"] = config["cpu"];
  config["gpu_reason"] = "";
  write_file(root() / "build/onepass.json", config.dump());
}

void Workbook::edit_config(const std::string& from, const std::string& to) const {
  std::string text = read_file(root() / "build/onepass.json");
  const std::size_t found = text.find(from);
  REQUIRE(found != std::string::npos);
  text.replace(found, from.size(), to);
  write_file(root() / "build/onepass.json", text);
}

}  // namespace onepass::driver::test
