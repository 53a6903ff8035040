// Exercise 4.2: what y would be with one mistake.
#include <cmath>
#include <optional>

#include "chapters/batchnorm/mistakes.h"
#include "chapters/batchnorm/mistakes_y.h"
#include "chapters/batchnorm/wrong_outputs.h"

namespace onepass::batchnorm {

using verdict::Oracle;

namespace {

/// y with other statistics than the running ones.
Oracle evaluated_with(const char* mistake, const char* sentence,
                      std::function<Statistics(const Inputs&)> mean_and_rstd) {
  auto result = [=](const Case& call, const std::string&) -> std::optional<Field> {
    const Inputs in = inputs_of(call);
    const Statistics used = mean_and_rstd(in);
    return as_tensor(normalized(in.x, used.mean, used.variance, in.weight, in.bias), in.batch);
  };
  return {mistake, sentence, result};
}

/// y with another factor than 1 / sqrt(running_var + eps).
Oracle factor(const char* mistake, const char* sentence,
              std::function<double(double variance, double eps)> f) {
  return evaluated_with(mistake, sentence, [f](const Inputs& in) {
    Field rstd = in.running_var;
    for (double& value : rstd.values) {
      value = f(value, in.eps);
    }
    return Statistics{in.running_mean, rstd};
  });
}

}  // namespace

std::vector<Oracle> evaluate_mistakes() {
  std::vector<Oracle> all;
  all.push_back(evaluated_with(
      "batch-statistics-used",
      "y was normalised with the batch's own mean and variance: evaluation uses the running ones.",
      [](const Inputs& in) {
        const Field mean = means(in.x);
        return Statistics{mean, rstd_of(biased_variances(in.x, mean), in.eps)};
      }));
  all.push_back(evaluated_with(
      "statistics-swapped", "The running mean and the running variance have changed places.",
      [](const Inputs& in) {
        return Statistics{in.running_var, rstd_of(in.running_mean, in.eps)};
      }));
  all.push_back(factor(
      "eps-outside-root", "y is what 1 / (sqrt(var) + eps) gives: eps belongs inside the root.",
      [](double variance, double eps) { return 1.0 / (std::sqrt(variance) + eps); }));
  all.push_back(factor("eps-ignored", "y is what comes out without eps: add it to the variance.",
                       [](double variance, double) { return 1.0 / std::sqrt(variance); }));
  for (float fixed : {1e-5f, 1e-6f}) {
    all.push_back(factor("eps-ignored",
                         "y is what comes out with an eps of its own, whatever eps is given: use "
                         "the argument.",
                         [fixed](double variance, double) {
                           return 1.0 / std::sqrt(variance + static_cast<double>(fixed));
                         }));
  }
  all.push_back(factor("no-root", "x - mean was divided by the variance: divide by its root.",
                       [](double variance, double eps) { return 1.0 / (variance + eps); }));
  all.push_back(factor("no-reciprocal",
                       "x - mean was multiplied by the variance: divide by the root of it and eps.",
                       [](double variance, double) { return variance; }));
  append_y_mistakes(all);
  return all;
}

}  // namespace onepass::batchnorm
