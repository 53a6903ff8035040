// Oracles of exercise 2.1, from a single wrong step.
#include "chapters/layernorm/wrong_forward.h"

#include <utility>

#include "chapters/common/misread.h"

namespace onepass::layernorm {

using verdict::Oracle;

Oracle wrong_forward(std::string id, std::string sentence, WrongForward wrong, double slack) {
  auto result = [wrong = std::move(wrong)](const Case& call,
                                           const std::string& output) -> std::optional<Field> {
    const std::optional<ForwardOutputs> outputs =
        wrong({call.dtype(), call.values("x").field(), values_or(call, "weight", 1.0),
               values_or(call, "bias", 0.0), !call.buffer("weight").null, !call.buffer("bias").null,
               eps_of(call)});
    if (!outputs) {
      return std::nullopt;
    }
    return output == "y" ? outputs->y : output == "mean" ? outputs->mean : outputs->rstd;
  };
  return {std::move(id), std::move(sentence), result, slack};
}

ForwardOutputs outputs_with(const ForwardInputs& in, const Field& mean, const Field& rstd) {
  return {mean, rstd, scaled_and_shifted(normalized(in.x, mean, rstd), in.weight, in.bias)};
}

Oracle wrong_mean(std::string id, std::string sentence, WrongMean mean, double slack) {
  return wrong_forward(
      std::move(id), std::move(sentence),
      [mean = std::move(mean)](const ForwardInputs& in) -> std::optional<ForwardOutputs> {
        const std::optional<Field> wrong = mean(in);
        if (!wrong) {
          return std::nullopt;
        }
        return outputs_with(in, *wrong, rstd_of(row_variances(in.x, *wrong), in.eps));
      },
      slack);
}

Oracle wrong_squares(std::string id, std::string sentence, WrongSquares squares, double slack) {
  return wrong_forward(
      std::move(id), std::move(sentence),
      [squares = std::move(squares)](const ForwardInputs& in) -> std::optional<ForwardOutputs> {
        const Field mean = row_means(in.x);
        const std::optional<Field> sums =
            squares(in, normalized(in.x, mean, Field(in.x.rows, 1, 1.0)));
        if (!sums) {
          return std::nullopt;
        }
        const Field variance = common::map(*sums, [&](double sum) { return sum / in.cols(); });
        return outputs_with(in, mean, rstd_of(variance, in.eps));
      },
      slack);
}

Oracle wrong_rstd(std::string id, std::string sentence,
                  std::function<double(const ForwardInputs&, double mean, double variance)> rstd) {
  return wrong_forward(std::move(id), std::move(sentence),
                       [rstd = std::move(rstd)](const ForwardInputs& in) {
                         const Field mean = row_means(in.x);
                         Field wrong = row_variances(in.x, mean);
                         for (std::int64_t row = 0; row < wrong.rows; ++row) {
                           wrong(row, 0) = rstd(in, mean(row, 0), wrong(row, 0));
                         }
                         return outputs_with(in, mean, wrong);
                       });
}

Oracle wrong_y(std::string id, std::string sentence, WrongY y) {
  return wrong_forward(
      std::move(id), std::move(sentence),
      [y = std::move(y)](const ForwardInputs& in) -> std::optional<ForwardOutputs> {
        const Statistics rows = statistics(in.x, in.eps);
        const std::optional<Field> wrong = y(in, rows);
        if (!wrong) {
          return std::nullopt;
        }
        return ForwardOutputs{rows.mean, rows.rstd, *wrong};
      });
}

}  // namespace onepass::layernorm
