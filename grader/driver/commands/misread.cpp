#include "driver/commands/misread.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <functional>

#include "driver/bad_input.h"
#include "driver/config.h"
#include "driver/naming.h"
#include "driver/nearest.h"
#include "driver/student/standing.h"
#include "driver/text.h"

namespace onepass::driver {
namespace fs = std::filesystem;

namespace {

// What refuses a value, for whoever reads what() below: "takes fp32, fp16 or bf16".
CLI::Validator takes(const std::string& what,
                     const std::function<bool(const std::string&)>& is_it) {
  return CLI::Validator(
      [=](const std::string& value) {
        return is_it(value) ? "" : fmt::format("takes {}, and not {}", what, shell_word(value));
      },
      "");
}

bool is_exercise(const Config& config, const std::string& word) {
  try {
    exercises_named(config, {{word}, "", ""});
    return true;
  } catch (const BadInput&) {
    return false;
  }
}

// One misread command line.
class Misread {
 public:
  Misread(const CLI::App& app, const fs::path& workbook)
      : app_(app),
        command_(app.get_subcommands().empty() ? nullptr : app.get_subcommands().front()),
        config_(read_config(workbook)),
        program_(program_of(config_)) {}

  // A word that nothing takes, before the command or in its place.
  std::string told_extra_first(const std::string& word) const {
    if (is_option(word)) {
      return fmt::format(
          "There is no option {} before the command: options come behind it, and {} --help lists "
          "all commands.",
          shell_word(name_in(word)), program_);
    }
    return is_exercise(config_, word)
               ? fmt::format(
                     "{0} is an exercise, and no command: {1} grade {0} grades it, and {1} "
                     "--help lists all commands.",
                     shell_word(word), program_)
               : fmt::format(
                     "There is no command {}{}", shell_word(word),
                     did_you_mean(commands_of(app_), word, program_ + " --help lists them all"));
  }

  // The same behind a command.
  std::string told_extra_behind(const std::string& word) const {
    if (is_option(word)) {
      return fmt::format(
          "{} has no option {}{}", command_->get_name(), shell_word(name_in(word)),
          did_you_mean(options_of(*command_), name_in(word), help() + " lists its options"));
    }
    return fmt::format("{} is one word too many: {} says what {} takes.", shell_word(word), help(),
                       command_->get_name());
  }

  // Anything else. CLI11 keeps what it is about in its sentence only, which begins with the
  // option's name: "--seed: 1 required UINT missing".
  std::string told_of_value(const CLI::ParseError& error) const {
    const std::string sentence = error.what();
    const std::string name = sentence.substr(0, sentence.find_first_of(": "));
    const auto* validation = dynamic_cast<const CLI::ValidationError*>(&error);
    if (validation != nullptr && sentence.size() > name.size() + 2) {
      return fmt::format("{} {}.", name, sentence.substr(name.size() + 2));
    }
    const CLI::Option* option = option_called(name);
    if (option == nullptr) {
      return fmt::format("This cannot be read ({}): {} says what there is.", sentence, help());
    }
    const bool is_flag = option->get_items_expected_max() == 0;
    return fmt::format("{} {}: {} says what {} takes.", option->get_name(),
                       is_flag                    ? "takes no value"
                       : option->get_positional() ? "is missing"
                                                  : "needs a value",
                       help(), command_->get_name());
  }

 private:
  static bool is_option(const std::string& word) { return word.size() > 1 && word.front() == '-'; }

  // Of "--seed=3".
  static std::string name_in(const std::string& option) {
    return option.substr(0, option.find('='));
  }

  // Of a flag CLI11 tells the name without its dashes.
  const CLI::Option* option_called(const std::string& name) const {
    if (command_ == nullptr) {
      return nullptr;
    }
    const CLI::Option* option = command_->get_option_no_throw(name);
    return option == nullptr ? command_->get_option_no_throw("--" + name) : option;
  }

  std::string help() const {
    return fmt::format("{}{} --help", program_,
                       command_ == nullptr ? "" : " " + command_->get_name());
  }

  const CLI::App& app_;
  const CLI::App* command_;  // null: none was given
  Config config_;
  std::string program_;
};

}  // namespace

std::vector<std::string> commands_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return names;
}

std::vector<std::string> options_of(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& one : option->get_lnames()) {
      names.push_back("--" + one);
    }
  }
  return names;
}

void refuse(const CLI::App& app, const CLI::ParseError& error, const fs::path& workbook) {
  const std::vector<std::string> first = app.remaining();
  const std::vector<std::string> behind =
      app.get_subcommands().empty() ? first : app.get_subcommands().front()->remaining();
  const bool is_question = error.get_exit_code() == 0;
  if (is_question && (first.empty() || !app.get_subcommands().empty())) {
    return;
  }
  const Misread misread(app, workbook);
  throw BadInput(!first.empty()    ? misread.told_extra_first(first.front())
                 : !behind.empty() ? misread.told_extra_behind(behind.front())
                                   : misread.told_of_value(error));
}

void refuse_values_of_flags(CLI::App& app) {
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) {
    for (CLI::Option* option : command->get_options(
             [](const CLI::Option* one) { return one->get_items_expected_max() == 0; })) {
      option->disable_flag_override();
    }
  }
}

CLI::Validator whole_number(std::int64_t least, std::int64_t most) {
  return takes(fmt::format("a whole number from {} to {}", least, most),
               [=](const std::string& value) {
                 std::int64_t number = 0;
                 const char* const end = value.data() + value.size();
                 const auto [read_to, error] = std::from_chars(value.data(), end, number);
                 return error == std::errc() && read_to == end && number >= least && number <= most;
               });
}

CLI::Validator number_above_0() {
  return takes("a number above 0", [](const std::string& value) {
    char* end = nullptr;
    const double number = std::strtod(value.c_str(), &end);
    return end == value.c_str() + value.size() && std::isfinite(number) && number > 0;
  });
}

CLI::Validator one_of(const std::vector<std::string>& words) {
  return takes(alternatives(words), [=](const std::string& value) {
    return std::find(words.begin(), words.end(), value) != words.end();
  });
}

}  // namespace onepass::driver
