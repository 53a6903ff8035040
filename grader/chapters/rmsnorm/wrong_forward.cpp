// Makes oracles of exercise 1.2 from formulas.
#include "chapters/rmsnorm/wrong_forward.h"

#include <cmath>
#include <utility>

#include "chapters/common/misread.h"

namespace onepass::rmsnorm {

using common::map;
using verdict::Oracle;

namespace {

/// The named output of the two.
std::optional<Field> pick(const std::optional<Forward>& outputs, const std::string& output) {
  if (!outputs) {
    return std::nullopt;
  }
  return output == "y" ? outputs->y : outputs->rstd;
}

Forward forward_with(const Inputs& in, const Field& rstd) {
  return {scaled(in.x, rstd, in.weight), rstd};
}

}  // namespace

Oracle wrong_forward(std::string mistake, std::string sentence, WrongForward wrong, double slack) {
  auto result = [wrong = std::move(wrong)](const Case& call, const std::string& output) {
    const Inputs in{call.dtype(), call.values("x").field(), weight_of(call), eps_of(call)};
    return pick(wrong(in), output);
  };
  return {std::move(mistake), std::move(sentence), result, slack};
}

Oracle wrong_rstd(std::string mistake, std::string sentence, WrongRstd wrong) {
  return wrong_forward(
      std::move(mistake), std::move(sentence), [wrong = std::move(wrong)](const Inputs& in) {
        const Field sums = row_sums(squares_of(in.x));
        return forward_with(in, map(sums, [&](double squares) { return wrong(in, squares); }));
      });
}

Oracle wrong_sum(std::string mistake, std::string sentence, WrongSum wrong, double slack) {
  auto outputs = [wrong = std::move(wrong)](const Inputs& in) -> std::optional<Forward> {
    const std::optional<Field> sums = wrong(in);
    if (!sums) {
      return std::nullopt;
    }
    return forward_with(
        in, map(*sums, [&](double sum) { return 1.0 / std::sqrt(sum / in.cols() + in.eps); }));
  };
  return wrong_forward(std::move(mistake), std::move(sentence), outputs, slack);
}

Oracle wrong_y(std::string mistake, std::string sentence, WrongY wrong) {
  return wrong_forward(std::move(mistake), std::move(sentence),
                       [wrong = std::move(wrong)](const Inputs& in) {
                         const Field rstd = rms_rstd(in.x, in.eps);
                         return Forward{wrong(in, rstd), rstd};
                       });
}

Oracle wrong_x(std::string mistake, std::string sentence, WrongX wrong) {
  auto result = [wrong = std::move(wrong)](const Case& call,
                                           const std::string& output) -> std::optional<Field> {
    const std::optional<Field> x = wrong(call);
    if (!x) {
      return std::nullopt;
    }
    return pick(rmsnorm_forward(*x, weight_of(call), eps_of(call)), output);
  };
  return {std::move(mistake), std::move(sentence), result, verdict::kSlack};
}

Field squares_of(const Field& x) {
  return map(x, [](double value) { return value * value; });
}

}  // namespace onepass::rmsnorm
