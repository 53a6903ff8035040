// How far PyTorch's outputs are from the references.
#include "tests/pytorch/agreement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "verdict/compare.h"

namespace onepass::agreement {
namespace {

using verdict::Case;
using verdict::Expectation;
using verdict::Field;
using verdict::Matrix;

constexpr double kNothing = std::numeric_limits<double>::infinity();

/// The worst difference in fp64 over its bound; infinite where there is none to tell, as for NaN.
double worst_difference(const Field& got, const Expectation& expected) {
  double worst = 0.0;
  for (std::size_t i = 0; i < got.values.size(); ++i) {
    const double difference = std::abs(got.values[i] - expected.value.values[i]);
    const double ratio = difference == 0.0 ? 0.0 : difference / expected.bound.values[i];
    worst = ratio <= worst  ? worst
            : ratio > worst ? ratio
                            : std::numeric_limits<double>::infinity();
  }
  return worst;
}

/// Adds the shape of a call: all of its integers but strides and what is no size.
void widen(std::map<std::string, std::array<std::int64_t, 2>>& shapes, const Case& call) {
  for (const auto& [name, value] : call.scalars()) {
    if (std::holds_alternative<std::int64_t>(value) && !name.ends_with("_stride") &&
        name != "order") {
      const std::int64_t size = std::get<std::int64_t>(value);
      auto& [least, most] = shapes.try_emplace(name, std::array{size, size}).first->second;
      least = std::min(least, size);
      most = std::max(most, size);
    }
  }
}

void require_shape(const Case& call, const Expectation& expected, std::int64_t rows,
                   std::int64_t cols) {
  if (rows != expected.value.rows || cols != expected.value.cols) {
    throw BadExchange(fmt::format("{} of {} ({}) has shape {} x {} and should have {} x {}.",
                                  expected.output, call.function(), call.describe(), rows, cols,
                                  expected.value.rows, expected.value.cols));
  }
}

/// Rows by what makes them one.
class Rows {
 public:
  void add(const Subject& subject, const Case& call, const Expectation& expected,
           const Computed& computed) {
    const verdict::Dtype dtype = call.buffer(expected.output).dtype;
    Row& row = find(subject, call, expected.output, computed);
    Matrix got;
    if (const Field* field = std::get_if<Field>(&computed.values)) {
      require_shape(call, expected, field->rows, field->cols);
      row.before_rounding = std::max(row.before_rounding, worst_difference(*field, expected));
      got = Matrix::rounded(dtype, *field);
    } else {
      got = std::get<Matrix>(computed.values);
      require_shape(call, expected, got.rows(), got.cols());
    }
    const verdict::Comparison comparison =
        verdict::compare(got, expected.value, expected.bound, std::nullopt);
    row.over_bound = std::max(row.over_bound, comparison.error_over_bound);
    row.elements += comparison.size;
    ++row.cases;
    widen(row.shapes, call);
  }

  /// Not computed at all.
  void add_missing(const Subject& subject, const Case& call, const std::string& output) {
    find(subject, call, output, {"nothing", "fp64", Field()});
  }

  std::vector<Row> take() { return std::move(rows_); }

 private:
  Row& find(const Subject& subject, const Case& call, const std::string& output,
            const Computed& computed) {
    const std::string dtype = call.dtype_name();
    for (Row& row : rows_) {
      if (row.exercise == subject.exercise && row.output == output && row.dtype == dtype &&
          row.by == computed.by && row.computed_in == computed.computed_in) {
        return row;
      }
    }
    return rows_.emplace_back(Row{
        subject.exercise, output, dtype, computed.by, computed.computed_in, 0, 0, {}, 0.0, 0.0});
  }

  std::vector<Row> rows_;
};

}  // namespace

Agreement judge(const std::vector<std::filesystem::path>& folders) {
  Agreement agreement;
  Rows rows;
  for (const std::filesystem::path& folder : folders) {
    const Outputs outputs(folder);
    const Plan& plan = outputs.plan();
    if (!agreement.seeds.empty() && outputs.about() != agreement.about) {
      throw BadExchange(folder.string() + " was made on another machine, day or PyTorch.");
    }
    if (std::count(agreement.seeds.begin(), agreement.seeds.end(), plan.seed) > 0) {
      throw BadExchange(fmt::format("{} repeats seed {}.", folder.string(), plan.seed));
    }
    agreement.about = outputs.about();
    agreement.seeds.push_back(plan.seed);
    agreement.cases += plan.each;
    for (std::int64_t number = 0; number < plan.size(); ++number) {
      const Subject& subject = plan.subject(number);
      const Case call = plan.draw(number);
      for (const Expectation& expected : subject.expected(call)) {
        const std::vector<Computed> all = outputs.computed(number, expected.output);
        for (const Computed& computed : all) {
          rows.add(subject, call, expected, computed);
        }
        if (all.empty()) {
          rows.add_missing(subject, call, expected.output);
        }
      }
    }
  }
  agreement.rows = rows.take();
  return agreement;
}

namespace {

/// What is wrong with a row by itself, or nothing.
std::string complaint(const Row& row, std::int64_t cases) {
  if (row.cases != cases || row.elements == 0) {
    return fmt::format("there are {} of {} cases", row.cases, cases);
  }
  if (!std::isfinite(row.over_bound)) {
    return "not a number, or infinite";
  }
  if (row.computed_in == "fp64" && !(row.over_bound <= 1.0)) {
    return fmt::format("{:.3g} bounds off", row.over_bound);
  }
  return "";
}

}  // namespace

std::vector<std::string> disagreements(const Agreement& agreement) {
  std::vector<std::string> sentences;
  std::set<std::string> compared, complained;
  std::map<std::string, double> closest;  // of each output, before rounding
  for (const Row& row : agreement.rows) {
    compared.insert(row.exercise);
    const std::string output = fmt::format("{} of {} in {}", row.output, row.exercise, row.dtype);
    const std::string wrong = complaint(row, agreement.cases);
    if (!wrong.empty()) {
      complained.insert(output);
      sentences.push_back(
          fmt::format("{}, computed in {} by {}: {}.", output, row.computed_in, row.by, wrong));
    }
    double& least = closest.try_emplace(output, kNothing).first->second;
    if (row.computed_in == "fp64") {
      least = std::min(least, row.before_rounding);
    }
  }
  for (const auto& [output, least] : closest) {
    if (complained.count(output) == 0 && !(least <= kSameFormula)) {
      sentences.push_back(
          least == kNothing ? output + ": nothing was computed in fp64."
                            : fmt::format("{}: before rounding, what is computed in fp64 is {:.3g} "
                                          "of a bound off, and {:.0e} is the limit.",
                                          output, least, kSameFormula));
    }
  }
  for (const Subject& subject : subjects()) {
    if (compared.count(subject.exercise) == 0) {
      sentences.push_back(subject.exercise + ": nothing was compared.");
    }
  }
  return sentences;
}

}  // namespace onepass::agreement
