// The agreement as data, and as a table.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "tests/pytorch/agreement.h"

namespace onepass::agreement {
namespace {

using nlohmann::json;

/// JSON has no infinity: null stands for it.
double number_or_infinity(const json& value) {
  return value.is_null() ? std::numeric_limits<double>::infinity() : value.get<double>();
}

/// What one line of a table is about: an output of an exercise, in all dtypes.
struct Output {
  std::string exercise, output;

  bool operator==(const Output&) const = default;
};

std::vector<Output> outputs_of(const Agreement& agreement) {
  std::vector<Output> outputs;
  for (const Row& row : agreement.rows) {
    const Output output{row.exercise, row.output};
    if (std::find(outputs.begin(), outputs.end(), output) == outputs.end()) {
      outputs.push_back(output);
    }
  }
  return outputs;
}

/// Its rows, those computed in fp64 or the others.
std::vector<Row> rows_of(const Agreement& agreement, const Output& output, bool in_fp64) {
  std::vector<Row> found;
  for (const Row& row : agreement.rows) {
    if (Output{row.exercise, row.output} == output && (row.computed_in == "fp64") == in_fp64) {
      found.push_back(row);
    }
  }
  return found;
}

std::vector<std::string> operators_of(const std::vector<Row>& rows) {
  std::vector<std::string> names;
  for (const Row& row : rows) {
    if (std::find(names.begin(), names.end(), row.by) == names.end()) {
      names.push_back(row.by);
    }
  }
  return names;
}

double worst(const std::vector<Row>& rows) {
  double found = 0.0;
  for (const Row& row : rows) found = std::max(found, row.over_bound);
  return found;
}

/// Before rounding, of the operator that comes closest, in the dtype where it is furthest.
double furthest_of_closest(const std::vector<Row>& rows) {
  std::map<std::string, double> closest;
  for (const Row& row : rows) {
    double& least = closest.try_emplace(row.dtype, row.before_rounding).first->second;
    least = std::min(least, row.before_rounding);
  }
  double found = 0.0;
  for (const auto& [dtype, least] : closest) found = std::max(found, least);
  return found;
}

/// The worst of an operator in one dtype, or nothing.
std::string worst_of(const std::vector<Row>& rows, const std::string& by,
                     const std::string& dtype) {
  std::vector<Row> found;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(found),
               [&](const Row& row) { return row.by == by && row.dtype == dtype; });
  return found.empty() ? "" : fmt::format("{:.3g}", worst(found));
}

std::string shapes_of(const Row& row) {
  std::vector<std::string> sizes;
  for (const auto& [name, range] : row.shapes) {
    sizes.push_back(fmt::format("{} {} to {}", name, range[0], range[1]));
  }
  return fmt::format("{}", fmt::join(sizes, ", "));
}

/// All rows of an exercise as one: the ranges of its sizes, and its elements.
Row together(const Agreement& agreement, const std::string& exercise) {
  Row sum;
  for (const Row& row : agreement.rows) {
    if (row.exercise != exercise) continue;
    if (row.computed_in == "fp64") sum.elements += row.elements;
    for (const auto& [name, range] : row.shapes) {
      auto& [least, most] = sum.shapes.try_emplace(name, range).first->second;
      least = std::min(least, range[0]);
      most = std::max(most, range[1]);
    }
  }
  return sum;
}

}  // namespace

json to_data(const Agreement& agreement) {
  json rows = json::array();
  for (const Row& row : agreement.rows) {
    json one = {{"exercise", row.exercise},
                {"output", row.output},
                {"dtype", row.dtype},
                {"by", row.by},
                {"computed_in", row.computed_in},
                {"cases", row.cases},
                {"elements", row.elements},
                {"shapes", row.shapes},
                {"over_bound", row.over_bound}};
    if (row.computed_in == "fp64") {
      one["before_rounding"] = row.before_rounding;
    }
    rows.push_back(one);
  }
  return {{"torch", agreement.about.torch},
          {"cuda", agreement.about.cuda},
          {"device", agreement.about.device},
          {"date", agreement.about.date},
          {"seeds", agreement.seeds},
          {"cases", agreement.cases},
          {"rows", rows}};
}

Agreement from_data(const json& data) {
  Agreement agreement{{data.at("torch"), data.at("cuda"), data.at("device"), data.at("date")},
                      data.at("seeds"),
                      data.at("cases"),
                      {}};
  for (const json& one : data.at("rows")) {
    Row row{one.at("exercise"),
            one.at("output"),
            one.at("dtype"),
            one.at("by"),
            one.at("computed_in"),
            one.at("cases"),
            one.at("elements"),
            one.at("shapes"),
            0.0,
            0.0};
    row.over_bound = number_or_infinity(one.at("over_bound"));
    if (row.computed_in == "fp64") {
      row.before_rounding = number_or_infinity(one.at("before_rounding"));
    }
    agreement.rows.push_back(row);
  }
  return agreement;
}

std::string table(const Agreement& agreement) {
  std::string text = fmt::format(
      "PyTorch {} with CUDA {} on {}, {}. Seeds {}; {} cases of each exercise in each type. All of "
      "it: `docs/data/agreement.json`.\n\n",
      agreement.about.torch, agreement.about.cuda, agreement.about.device, agreement.about.date,
      fmt::join(agreement.seeds, ", "), agreement.cases);
  text +=
      "| exercise | output | PyTorch's operators in fp64 | worst error / bound | before rounding "
      "|\n"
      "|---|---|---|---|---|\n";
  for (const Output& output : outputs_of(agreement)) {
    const std::vector<Row> rows = rows_of(agreement, output, true);
    text +=
        fmt::format("| {} | `{}` | {} | {:.3g} | {:.1e} |\n", output.exercise, output.output,
                    fmt::join(operators_of(rows), "; "), worst(rows), furthest_of_closest(rows));
  }
  text +=
      "\n| exercise | output | PyTorch's operator in the tensors' type | fp32 | fp16 | bf16 |\n"
      "|---|---|---|---|---|---|\n";
  for (const Output& output : outputs_of(agreement)) {
    const std::vector<Row> rows = rows_of(agreement, output, false);
    for (const std::string& by : operators_of(rows)) {
      text += fmt::format("| {} | `{}` | {} | {} | {} | {} |\n", output.exercise, output.output, by,
                          worst_of(rows, by, "fp32"), worst_of(rows, by, "fp16"),
                          worst_of(rows, by, "bf16"));
    }
  }
  text += "\n| exercise | shapes | numbers compared in fp64 |\n|---|---|---|\n";
  for (const Subject& subject : subjects()) {
    const Row all = together(agreement, subject.exercise);
    text += fmt::format("| {} | {} | {} |\n", subject.exercise, shapes_of(all), all.elements);
  }
  return text;
}

}  // namespace onepass::agreement
