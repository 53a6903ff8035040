// Agreement: how far PyTorch's outputs are from the references, in the grader's own bounds.
//
// Two kinds of outputs are compared. Those that PyTorch computed in fp64 answer whether the
// formulas, shapes and conventions are the same: rounded to the output's type they must lie within
// the bound, and as they are, at least those of one operator, within a millionth of it. Those of
// PyTorch's kernels in the tensors' own type are told: they may round as they like.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tests/pytorch/exchange.h"

namespace onepass::agreement {

/// One output of an exercise in one dtype, computed by one operator in one type, over all cases.
struct Row {
  std::string exercise, output, dtype, by, computed_in;
  std::int64_t cases = 0;
  std::int64_t elements = 0;
  std::map<std::string, std::array<std::int64_t, 2>> shapes;  // "rows": {least, most}
  double over_bound = 0.0;       // the worst error over its bound, as the output's type has it
  double before_rounding = 0.0;  // the same without that rounding; only where computed in fp64
};

struct Agreement {
  About about;
  std::vector<std::uint64_t> seeds;
  std::int64_t cases = 0;  // of each exercise in each dtype, all seeds together
  std::vector<Row> rows;
};

/// The difference in fp64 that is no difference of formulas: rounding in fp64 is 2^-29 of rounding
/// in fp32.
constexpr double kSameFormula = 1e-6;

/// Compares all that is in the folders, in which torch_outputs.py has been. Throws BadExchange.
Agreement judge(const std::vector<std::filesystem::path>& folders);

/// Sentences that say where PyTorch and the references disagree or what was not compared; none if
/// they agree.
std::vector<std::string> disagreements(const Agreement& agreement);

nlohmann::json to_data(const Agreement& agreement);
Agreement from_data(const nlohmann::json& data);

/// The Markdown table of docs/grading.md.
std::string table(const Agreement& agreement);

}  // namespace onepass::agreement
