// Oracles of chapter 4, from a single wrong step.
#include "chapters/batchnorm/wrong_outputs.h"

#include <cmath>
#include <utility>

namespace onepass::batchnorm {

using verdict::Oracle;

namespace {

bool is_training(const Case& call) {
  return call.function() == "batchnorm_forward";
}

/// f(c) for each channel.
Field for_channels(const Inputs& in, const std::function<double(std::int64_t c)>& f) {
  Field result(in.channels(), 1);
  for (std::int64_t c = 0; c < in.channels(); ++c) {
    result(c, 0) = f(c);
  }
  return result;
}

/// The statistics that y is made with.
struct Used {
  Field mean, rstd;
};
Used used_by(const Case& call, const Inputs& in) {
  if (is_training(call)) {
    const Forward right = batchnorm_forward(in);
    return {right.save_mean, right.save_rstd};
  }
  return {in.running_mean, rstd_of(in.running_var, in.eps)};
}

}  // namespace

Oracle wrong_forward(std::string mistake, std::string sentence, WrongForward wrong, double slack) {
  auto result = [wrong = std::move(wrong)](const Case& call,
                                           const std::string& output) -> std::optional<Field> {
    const Inputs in = inputs_of(call);
    const std::optional<Forward> outputs = wrong(in, call.dtype());
    if (!outputs) {
      return std::nullopt;
    }
    return shaped(part(*outputs, output), output, in.batch);
  };
  return {std::move(mistake), std::move(sentence), result, slack};
}

Forward forward_with(const Inputs& in, const Statistics& statistics) {
  Forward out;
  out.save_mean = statistics.mean;
  out.save_rstd = rstd_of(statistics.variance, in.eps);
  Field unbiased = statistics.variance;
  for (double& variance : unbiased.values) {
    variance *= static_cast<double>(in.count()) / static_cast<double>(in.count() - 1);
  }
  out.running_mean = moved(in.running_mean, out.save_mean, in.momentum);
  out.running_var = moved(in.running_var, unbiased, in.momentum);
  out.y = normalized(in.x, out.save_mean, out.save_rstd, in.weight, in.bias);
  return out;
}

Oracle wrong_statistics(std::string mistake, std::string sentence,
                        std::function<std::optional<Statistics>(const Inputs&)> statistics,
                        double slack) {
  auto wrong = [statistics = std::move(statistics)](const Inputs& in,
                                                    Dtype) -> std::optional<Forward> {
    const std::optional<Statistics> found = statistics(in);
    return found ? std::optional(forward_with(in, *found)) : std::nullopt;
  };
  return wrong_forward(std::move(mistake), std::move(sentence), wrong, slack);
}

Oracle wrong_rstd(std::string mistake, std::string sentence,
                  std::function<double(const Inputs&, double)> rstd) {
  return wrong_forward(
      std::move(mistake), std::move(sentence), [rstd = std::move(rstd)](const Inputs& in, Dtype) {
        Forward out = batchnorm_forward(in);
        const Field variance = biased_variances(in.x, out.save_mean);
        out.save_rstd = for_channels(in, [&](std::int64_t c) { return rstd(in, variance(c, 0)); });
        out.y = normalized(in.x, out.save_mean, out.save_rstd, in.weight, in.bias);
        return std::optional(out);
      });
}

Oracle wrong_running(std::string mistake, std::string sentence,
                     std::function<double(const Running&)> mean,
                     std::function<double(const Running&)> variance) {
  return wrong_forward(
      std::move(mistake), std::move(sentence),
      [mean = std::move(mean), variance = std::move(variance)](const Inputs& in, Dtype) {
        Forward out = batchnorm_forward(in);
        const Field biased = biased_variances(in.x, out.save_mean);
        const auto count = static_cast<double>(in.count());
        out.running_mean = for_channels(in, [&](std::int64_t c) {
          return mean({in.running_mean(c, 0), out.save_mean(c, 0), in.momentum, count, in.eps});
        });
        out.running_var = for_channels(in, [&](std::int64_t c) {
          const double unbiased = biased(c, 0) * count / (count - 1.0);
          return variance({in.running_var(c, 0), unbiased, in.momentum, count, in.eps});
        });
        return std::optional(out);
      });
}

Oracle wrong_element(std::string mistake, std::string sentence,
                     std::function<double(const Element&)> y) {
  auto result = [y = std::move(y)](const Case& call,
                                   const std::string& output) -> std::optional<Field> {
    if (output != "y") {
      return std::nullopt;
    }
    const Inputs in = inputs_of(call);
    const Used used = used_by(call, in);
    Field wrong = in.x;
    for (std::int64_t c = 0; c < in.channels(); ++c) {
      for (std::int64_t j = 0; j < in.count(); ++j) {
        wrong(c, j) = y({in.x(c, j), used.mean(c, 0), used.rstd(c, 0), in.weight(c, 0),
                         in.bias(c, 0), call.dtype()});
      }
    }
    return as_tensor(wrong, in.batch);
  };
  return {std::move(mistake), std::move(sentence), result};
}

Oracle wrong_channel(
    std::string mistake, std::string sentence,
    std::function<std::int64_t(const Inputs&, std::int64_t c, std::int64_t j)> channel) {
  auto result = [channel = std::move(channel)](const Case& call,
                                               const std::string& output) -> std::optional<Field> {
    if (output != "y") {
      return std::nullopt;
    }
    const Inputs in = inputs_of(call);
    const Used used = used_by(call, in);
    Field wrong = in.x;
    for (std::int64_t c = 0; c < in.channels(); ++c) {
      for (std::int64_t j = 0; j < in.count(); ++j) {
        const std::int64_t given = channel(in, c, j);
        if (given < 0 || given >= in.channels()) {
          return std::nullopt;
        }
        const std::int64_t statistics = is_training(call) ? c : given;
        wrong(c, j) = (in.x(c, j) - used.mean(statistics, 0)) * used.rstd(statistics, 0) *
                          in.weight(given, 0) +
                      in.bias(given, 0);
      }
    }
    return as_tensor(wrong, in.batch);
  };
  return {std::move(mistake), std::move(sentence), result};
}

}  // namespace onepass::batchnorm
