#include "driver/commands/student.h"

#include <fmt/format.h>
#include <unistd.h>

#include <vector>

#include "driver/commands/misread.h"
#include "driver/commands/words.h"
#include "driver/grade.h"
#include "driver/naming.h"
#include "driver/student/completion.h"
#include "driver/student/difference.h"
#include "driver/student/explain.h"
#include "driver/student/overview.h"
#include "driver/student/reset.h"
#include "driver/student/standing.h"
#include "driver/terminal.h"
#include "driver/text.h"

namespace onepass::driver {
namespace fs = std::filesystem;

namespace {

// What may come behind each command.
std::vector<CommandWords> words_to_complete(const Config& config, const CLI::App& app) {
  std::vector<std::string> exercises;
  for (const Named& one : exercises_named(config, {})) {
    exercises.push_back(number_of(one));
    exercises.push_back(one.exercise->id);
  }
  for (const Chapter& chapter : config.chapters) {
    exercises.push_back(chapter.name);
  }
  std::vector<CommandWords> commands;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    const std::string name = command->get_name();
    CommandWords words = {name, {}};
    if (name == "explain") {
      words.words = mistakes(config);
    } else if (name == "completion") {
      words.words = {"bash", "zsh", "fish"};
    } else if (command->get_option_no_throw("exercise") != nullptr ||
               command->get_option_no_throw("exercises") != nullptr) {
      words.words = exercises;
    }
    const std::vector<std::string> options = options_of(*command);
    words.words.insert(words.words.end(), options.begin(), options.end());
    commands.push_back(words);
  }
  commands.push_back({"", commands_of(app)});
  return commands;
}

}  // namespace

StudentCommands::StudentCommands(CLI::App& app)
    : app_(app),
      watch_(app.add_subcommand("watch", "Grade an exercise again whenever its file is saved")),
      hint_(app.add_subcommand("hint", "Open the next hint of an exercise")),
      list_(app.add_subcommand("list", "List the exercises, with points and where you stand")),
      reset_(app.add_subcommand("reset", "Begin an exercise anew, and keep the old file beside")),
      diff_(app.add_subcommand("diff", "Show a passed exercise beside its solution")),
      explain_(app.add_subcommand("explain", "Tell what a mistake is, and what to do about it")),
      completion_(app.add_subcommand("completion", "Print what a shell needs to complete words")) {
  watch_->add_option("exercises", watching_.exercises, "Such as 1.2; default: whatever is saved");
  watch_->add_option("--device", watching_.device, kDevice);
  watch_->add_option("--seed", watching_.seed, kSeed)
      ->check(whole_number(0, kMostSeed))
      ->capture_default_str();
  hint_->add_option("exercise", hinting_.exercise,
                    std::string(kExercise) + "; default: the next one");
  hint_->add_option("todo", hinting_.todo, "Of which TODO; default: the next one to be done")
      ->check(whole_number(1, 99));
  hint_->add_flag("--again", hinting_.again, "Show those that are open, and open no other");
  reset_->add_option("exercise", exercise_, kExercise);
  diff_->add_option("exercise", exercise_, kExercise);
  explain_->add_option("mistake", mistake_,
                       "Such as missing-barrier; default: those that were named last");
  completion_->add_option("shell", shell_, "bash, zsh or fish");
}

int StudentCommands::run(const Config& config, const fs::path& workbook) {
  const Style style = style_for(STDOUT_FILENO);
  if (*watch_) {
    watching_.workbook = workbook;
    return driver::watch(config, watching_);
  }
  if (*diff_ && !config.has_solutions()) {
    throw BadInput("This copy of the workbook has no solutions to show.");
  }
  fmt::print("{}", *hint_         ? open_hint(config, hinting_)
                   : *list_       ? render_list(config, standings(config), style)
                   : *reset_      ? driver::reset(config, exercise_)
                   : *diff_       ? difference(config, exercise_, style)
                   : *explain_    ? driver::explain(config, mistake_)
                   : *completion_ ? driver::completion(shell_, words_to_complete(config, app_))
                                  : render_overview(config, standings(config), style));
  return kComplete;
}

}  // namespace onepass::driver
