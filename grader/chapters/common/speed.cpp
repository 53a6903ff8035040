// Points for speed.
#include "chapters/common/speed.h"

#include <fmt/format.h>

#include <cmath>

namespace onepass::common {
namespace {

constexpr double kRoom = 1.005;  // for sectors that two rows share

// Never more than it was: 84.97 % are not the 85 % that are wanted.
double shown(double percent) {
  return std::floor(10.0 * percent) / 10.0;
}

}  // namespace

void require_speed(const SpeedStep& step) {
  const std::optional<verdict::Speed>& speed = verdict::session().speed();
  if (!speed) {
    return;
  }
  const bool is_timed = verdict::session().device() == "gpu";
  if (is_timed ? speed->percent_of_copy >= step.percent_of_copy
               : speed->over_least <= kRoom * step.over_least) {
    return;
  }
  const std::string reached =
      is_timed ? fmt::format("this call runs at {:g} % of a copy's speed ({}), and {:g} % are",
                             shown(speed->percent_of_copy), speed->in_words, step.percent_of_copy)
               : fmt::format(
                     "this call asks for {:.2f} times the least traffic ({}), and {:g} "
                     "times is",
                     speed->over_least, speed->in_words, step.over_least);
  const std::string next = speed->next.sentence.empty()
                               ? "What brings more, the exercise's section tells."
                               : "The next step: " + speed->next.sentence;
  verdict::session().fail(
      speed->call, {.message = fmt::format("The result is right, but {} wanted for this point. {}",
                                           reached, next),
                    .mistake = "slower-than-a-copy",
                    .location = speed->next.location,
                    .is_right = true});
}

}  // namespace onepass::common
