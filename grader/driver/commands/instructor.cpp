#include "driver/commands/instructor.h"

#include <fmt/format.h>

#include "driver/class/copies.h"
#include "driver/commands/words.h"
#include "driver/grade.h"

namespace onepass::driver {

InstructorCommands::InstructorCommands(CLI::App& app)
    : class_(app.add_subcommand("class", "Grade the submissions of a class (for instructors)")),
      handout_command_(
          app.add_subcommand("handout", "Make a student's copy of the workbook (for instructors)")),
      gradescope_(
          app.add_subcommand("gradescope", "Pack an autograder for Gradescope (for instructors)")) {
  class_->add_option("folder", grading_.folder, "It holds a folder or an archive of each student")
      ->required();
  class_->add_option("--out", grading_.out, "A folder for the results; a run goes on from there")
      ->required();
  class_->add_option("--csv", grading_.csv, "Where the table goes; default: class.csv in --out");
  class_->add_option("--policy", grading_.policy,
                     "A JSON file: weights, exercises, seeds, what students see");
  class_
      ->add_option("--jobs", grading_.jobs,
                   "Files that are graded at once; default: one a processor")
      ->check(CLI::PositiveNumber);
  class_->add_option("--seed", grading_.seed, std::string(kSeed) + "; default: 1");
  class_->add_option("--device", grading_.device, kDevice);
  class_->add_option("--shard", grading_.shard,
                     "Such as 3/16: only the third of sixteen parts of the class");
  class_->add_option("--container", grading_.container,
                     "An image of podman's or docker's to grade each submission in");
  class_->add_flag("--merge", grading_.merge,
                   "Grade nothing, and write the tables of what the parts have graded");
  handout_command_->add_option("folder", handout_, "Where it goes: a new folder")->required();
  gradescope_->add_option("zip", zip_, "The file to write")->required();
  gradescope_->add_option("--policy", policy_, "As of onepass class");
}

std::optional<int> InstructorCommands::run(const Config& config) {
  if (*class_) {
    return course::grade_class(config, grading_);
  }
  if (*handout_command_ || *gradescope_) {
    fmt::print("{}", *gradescope_ ? course::pack_autograder(config, zip_, policy_)
                                  : course::hand_out(config, handout_));
    return kComplete;
  }
  return std::nullopt;
}

}  // namespace onepass::driver
