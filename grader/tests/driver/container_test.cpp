// `onepass class --container`, with a podman that is a script: it notes what it is told, and runs
// the command outside of any container.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "driver/files.h"
#include "tests/driver/workbook.h"

using namespace onepass::driver;
using onepass::driver::test::has;
using onepass::driver::test::Workbook;
namespace fs = std::filesystem;

namespace {

void write_script(const fs::path& file, const std::string& text) {
  write_file(file, "#!/bin/sh\n" + text);
  chmod(file.c_str(), 0755);
}

struct Contained {
  Contained() {
    for (const char* student : {"ada", "eve"}) {
      for (const char* exercise : {"first", "second"}) {
        write_file(
            home.path() / "submissions" / student / "01_toy" / (std::string(exercise) + ".cu"),
            "int answer() { return 42; }\n");
      }
    }
    write_script(root / "build/onepass",
                 fmt::format("exec '{}/onepass' --workbook '{}/build/onepass.json' \"$@\"\n",
                             ONEPASS_BINARY_DIR, root.string()));
    set_podman("");
  }

  // `afterwards`: what happens to the folder $out then.
  void set_podman(const std::string& afterwards) const {
    write_script(root / "bin/podman", fmt::format(R"sh(
echo "$@" >> {}/told
for word; do
  case $word in
    --mount=*,target=/in,readonly) in=${{word#*source=}} in=${{in%%,*}} ;;
    --mount=*,target=/out) out=${{word#*source=}} out=${{out%%,*}} ;;
    --mount=*,target=/policy.json,readonly) policy=${{word#*source=}} policy=${{policy%%,*}} ;;
    an-image) break ;;
  esac
done
while [ "$1" != an-image ]; do shift; done
"$2" "$3" "$in" --out "$out" --policy "$policy" "$7" "$8"
code=$?
{}
exit $code
)sh",
                                                  root.string(), afterwards));
  }
  Workbook::Outcome grade(const std::string& before = "") const {
    return workbook.onepass(
        fmt::format("class '{0}/submissions' --out '{0}/results' --jobs 1 "
                    "--container an-image",
                    home.path().string()),
        before.empty() ? fmt::format("PATH='{}/bin':$PATH", root.string()) : before);
  }

  ScratchFolder home = ScratchFolder(fs::temp_directory_path());
  Workbook workbook;
  fs::path root = workbook.root();
};

}  // namespace

TEST_CASE("each submission has a container that sees itself and the workbook, and no network") {
  const Contained all;
  const auto outcome = all.grade();
  INFO(outcome.output);
  CHECK(outcome.code == 0);
  CHECK(has(outcome.output, "ada            9    2 of 2\n"));
  const std::string told = read_file(all.root / "told");
  for (const char* word : {"run --rm ", " --network=none ", " --read-only ", " --cap-drop=ALL ",
                           " --security-opt=no-new-privileges ",
                           " --pids-limit=", " --memory=", ",target=/in,readonly", " an-image "}) {
    CHECK(has(told, word));
  }
  CHECK(has(told, fmt::format("source={0},target={0},readonly", all.root.string())));
  CHECK_FALSE(has(told, "submissions"));
  CHECK(std::count(told.begin(), told.end(), '\n') == 2);
  CHECK(all.grade().code == 0);
  CHECK(read_file(all.root / "told") == told);  // all is graded
}

TEST_CASE("what a container leaves is read as a stranger's") {
  for (const std::string attack :
       {"sed -i 's/\"points\":2/\"points\":2000/' \"$out\"/graded/*", "rm -r \"$out\"",
        "sed -i 's/\"status\":\"passed\"/\"status\":7/g' \"$out\"/graded/*",
        "sed -i 's/\"confinement\"/\"other\"/' \"$out\"/graded/*",
        "for f in \"$out\"/graded/*; do rm \"$f\"; mkfifo \"$f\"; done",
        "for f in \"$out\"/graded/*; do ln -sf /dev/zero \"$f\"; done",
        "for f in \"$out\"/graded/*; do truncate -s 9G \"$f\"; done", "exit 9"}) {
    const Contained all;
    all.set_podman(attack);
    const auto outcome = all.grade();
    INFO(std::string(attack));
    INFO(outcome.output);
    CHECK((outcome.code == 3 || has(attack, "exit")));
    CHECK((has(outcome.output, "ungraded") || has(attack, "exit")));
    CHECK_FALSE(has(outcome.output, "2000"));
  }
}

TEST_CASE("what lies in the workbook would be seen in every container") {
  const Contained all;
  const auto outcome = all.workbook.onepass(
      fmt::format("class '{0}/exercises' --out '{0}/results' --container an-image",
                  all.root.string()),
      fmt::format("PATH='{}/bin':$PATH", all.root.string()));
  CHECK(outcome.code == 2);
  CHECK(has(outcome.output, "have to lie outside of the workbook"));
}

TEST_CASE("without podman and docker a sentence says so, and nothing is graded") {
  const Contained all;
  const auto outcome = all.grade("PATH=/nowhere");
  CHECK(outcome.code == 2);
  CHECK(has(outcome.output, "There is neither podman nor docker: install one"));
}
