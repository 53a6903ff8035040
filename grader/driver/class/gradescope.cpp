#include <fmt/format.h>
#include <sys/stat.h>

#include "driver/bad_input.h"
#include "driver/class/copies.h"
#include "driver/class/policy.h"
#include "driver/faults.h"
#include "driver/files.h"
#include "driver/printable.h"
#include "process/process.h"

namespace onepass::driver::course {
namespace fs = std::filesystem;

namespace {

// Gradescope runs it once, as root, when the autograder is made.
constexpr const char* kSetup = R"sh(#!/bin/sh
set -eu
cd /autograder/source/onepass
apt-get -q update
apt-get -q install -y --no-install-recommends make unzip
sh grader/setup.sh
cmake -B build
make -C build -j"$(nproc)"
)sh";

// And this for each submission. Where the grader cannot do its work it leaves no results, and
// Gradescope says that the autograder has failed, to the instructor.
constexpr const char* kRun = R"sh(#!/bin/sh
set -u
rm -rf /tmp/class /tmp/results
mkdir -p /tmp/class/submission /autograder/results
cp -r /autograder/submission/. /tmp/class/submission/
cd /autograder/source
policy=
[ ! -f policy.json ] || policy="--policy policy.json"
onepass/build/onepass class /tmp/class --out /tmp/results $policy
cp /tmp/results/gradescope/submission.json /autograder/results/results.json
)sh";

void write_program(const fs::path& file, const char* text) {
  write_file(file, text);
  chmod(file.c_str(), 0755);
}

}  // namespace

std::string pack_autograder(const Config& config, const fs::path& zip, const fs::path& policy) {
  const fs::path file = plain(zip);
  const std::string shown = printable_line(zip.string());
  std::error_code error;
  if (fs::exists(file, error)) {
    throw BadInput(fmt::format("{} is there already: give another file.", shown));
  }
  const ScratchFolder scratch(config.build / "cache");
  if (!policy.empty()) {
    read_policy(config, policy);
    write_file(scratch.path() / "policy.json", read_file(policy));
  }
  write_program(scratch.path() / "setup.sh", kSetup);
  write_program(scratch.path() / "run_autograder", kRun);
  copy_workbook(config, scratch.path() / "onepass", [](const std::string& name) {
    return name.compare(0, 13, "grader/tests/") != 0 && name.compare(0, 4, ".ci/") != 0;
  });
  fs::create_directories(file.parent_path(), error);
  const process::Result packed =
      process::run({{"/bin/sh", "-c", "cd \"$1\" && exec zip -qr \"$2\" .", "sh",
                     scratch.path().string(), file.string()}},
                   300);
  if (!packed.succeeded()) {
    throw GraderFault(
        fmt::format("zip {}: see that it is installed, and that {} can be written.\n{}",
                    packed.describe(), shown, printable(packed.output)));
  }
  return fmt::format(
      "{} is Gradescope's autograder: upload it under \"Configure Autograder\", on Ubuntu 22.04, "
      "and "
      "give it 2 processors, 4 GB or more, and 20 minutes.\n",
      shown);
}

}  // namespace onepass::driver::course
