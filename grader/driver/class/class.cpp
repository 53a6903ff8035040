#include "driver/class/class.h"

#include <fmt/format.h>

#include <cstdio>

#include "driver/class/class_run.h"
#include "driver/class/container.h"
#include "driver/class/policy.h"
#include "driver/grade.h"
#include "driver/printable.h"
#include "process/confinement.h"
#include "process/interrupt.h"

namespace onepass::driver::course {

namespace {

Policy policy_for(const Config& config, const ClassOptions& options) {
  Policy policy = options.policy.empty() ? Policy() : read_policy(config, options.policy);
  if (options.seed) {
    policy.seeds = {*options.seed};
  }
  if (!options.device.empty()) {
    policy.device = options.device;
  }
  return policy;
}

}  // namespace

void ClassRun::finish() {
  for (std::size_t student = 0; student < submissions_.size(); ++student) {
    results_.add(report_of(student));
  }
  if (options_.shard.empty()) {
    results_.write_tables();
  }
  fmt::print("{}", results_.table());
  for (const std::string& gap : process::gaps(process::layers())) {
    fmt::print("\nNot all that confines a submission is there. {}\n", gap);
  }
  for (const std::string& name : passed_over_) {
    fmt::print("\n{} is neither a folder nor an archive: passed over.\n", name);
  }
  if (results_.not_graded_yet() > 0) {
    fmt::print(
        "\n{} of {} students are not graded yet: {}.\n", results_.not_graded_yet(),
        submissions_.size(),
        options_.merge ? "run the parts that they are in" : "the same command goes on from here");
  }
  if (results_.has_ungraded() && results_.not_graded_yet() == 0) {
    fmt::print(
        "\nSomething could not be graded, through no fault of the students': the reports "
        "say why, and the same command tries that again.\n");
  }
  fmt::print("\nReports and feedback: {}\n", printable_line(out_.string()));
  std::fflush(stdout);
}

int ClassRun::exit_code() const {
  return process::interrupted()                                     ? kInterrupted
         : results_.has_ungraded() || results_.not_graded_yet() > 0 ? kUngraded
                                                                    : kComplete;
}

int grade_class(const Config& config, const ClassOptions& options) {
  if (!options.container.empty() && !options.merge) {
    container_engine();  // before all else
  }
  ClassRun run(config, options, policy_for(config, options));
  run.read();
  run.grade();
  run.finish();
  return run.exit_code();
}

}  // namespace onepass::driver::course
