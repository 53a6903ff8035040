#include "driver/student/overview.h"

#include <fmt/format.h>

#include <algorithm>

#include "driver/paint.h"
#include "driver/student/remember.h"

namespace onepass::driver {
namespace {

struct Totals {
  int passed = 0, exercises = 0, score = 0, max_score = 0;
};

Totals totals(const std::vector<Standing>& all, const Chapter* chapter = nullptr) {
  Totals sum;
  for (const Standing& one : all) {
    if ((chapter == nullptr || one.named.chapter == chapter) && one.is_counted()) {
      sum.passed += one.state == State::passed ? 1 : 0;
      ++sum.exercises;
      sum.score += one.score();
      sum.max_score += one.max_score();
    }
  }
  return sum;
}

const char* color_of_state(State state) {
  return state == State::passed                                   ? kGreen
         : state == State::not_started || state == State::missing ? kDim
         : state == State::changed || state == State::not_graded  ? kYellow
                                                                  : kRed;
}

}  // namespace

std::string render_overview(const Config& config, const std::vector<Standing>& all, Style style) {
  const Totals whole = totals(all);
  std::string text = fmt::format(
      "{}\n\n", painted(fmt::format("One Pass: {} of {} exercises passed, {} of "
                                    "{} points",
                                    whole.passed, whole.exercises, whole.score, whole.max_score),
                        kBold, style));
  for (const Chapter& chapter : config.chapters) {
    const Totals sum = totals(all, &chapter);
    if (sum.exercises == 0) {
      continue;  // its grader is not built
    }
    const std::string color = sum.passed == sum.exercises ? kGreen : sum.score > 0 ? kYellow : kDim;
    text += fmt::format("  {:<12} {}  {:>3} of {:<3} points\n", chapter.name,
                        painted(fmt::format("{:>2} of {:<2} passed", sum.passed, sum.exercises),
                                color.c_str(), style),
                        sum.score, sum.max_score);
  }
  text += "\n" + told_next(config, all);
  const Standing* next = next_after(all);
  if (next == nullptr) {
    return text;
  }
  text += fmt::format("  Read {}\n\n", next->info.docs);
  const std::string program = program_of(config);
  const std::string number = next->number;
  const std::pair<std::string, std::string> commands[] = {
      {"watch", "grades whatever you save, at once"},
      {"grade " + number, "grades it"},
      {"hint " + number, "opens a hint"},
      {"list", "lists all exercises"},
      {"--help", "lists all commands"}};
  for (const auto& [command, what] : commands) {
    text += fmt::format("  {:<24} {}\n", program + " " + command, what);
  }
  return text;
}

std::string render_list(const Config& config, const std::vector<Standing>& all, Style style) {
  std::size_t id_width = 0;
  std::size_t state_width = 0;
  for (const Standing& one : all) {
    id_width = std::max(id_width, one.info.id.size());
    state_width = std::max(state_width, one.state_name().size());
  }
  std::string text;
  for (const Standing& one : all) {
    const std::string state = fmt::format("{:<{}}", one.state_name(), state_width);
    std::string line =
        fmt::format("{:<4} {:<{}}  {:>3} of {:<3} {}  {}{}", one.number, one.info.id, id_width,
                    one.score(), one.max_score(), painted(state, color_of_state(one.state), style),
                    one.info.optional ? "(optional)  " : "", told_measured(one.note));
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  const Totals whole = totals(all);
  return text + fmt::format("\n{}\n{}",
                            painted(fmt::format("Score: {} of {}", whole.score, whole.max_score),
                                    kBold, style),
                            told_next(config, all));
}

}  // namespace onepass::driver
