#include "tests/told_apart.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>

namespace onepass::tests {

using verdict::Case;
using verdict::Expectation;
using verdict::Field;
using verdict::Matrix;
using verdict::Oracle;

namespace {

/// How far off a mistake must be somewhere, in bounds. A second rounding to 16 bits is small by
/// nature.
double clearly_wrong(const Oracle& oracle) {
  return oracle.mistake == "cast-order" ? 1.2 : 10.0;
}

bool named_as_itself(const Case& call, const Expectation& right, const Oracle& oracle,
                     const std::vector<Oracle>& oracles) {
  const auto wrong = oracle.result(call, right.output, {call.buffer(right.output).rows, 2, 2, 2});
  if (!wrong || error_over_bound(*wrong, right) < clearly_wrong(oracle)) {
    return false;
  }
  const Matrix got = Matrix::rounded(call.buffer(right.output).dtype, *wrong);
  const auto named =
      verdict::nearest(verdict::that_explain(call, right, got, {oracles.begin(), oracles.end()}));
  return named.size() == 1 && named.front().mistake == oracle.mistake;
}

}  // namespace

double error_over_bound(const Field& wrong, const Expectation& right) {
  double worst = 0.0;
  for (std::size_t i = 0; i < wrong.values.size(); ++i) {
    const double ratio = std::abs(wrong.values[i] - right.value.values[i]) / right.bound.values[i];
    worst = std::isnan(ratio) ? std::numeric_limits<double>::infinity() : std::max(worst, ratio);
  }
  return worst;
}

std::string not_told_apart(const std::vector<Case>& calls, const std::vector<Oracle>& oracles,
                           const Expected& expected) {
  std::set<std::string> unseen;
  for (const Oracle& oracle : oracles) {
    unseen.insert(oracle.mistake);
  }
  for (const Case& call : calls) {
    for (const Expectation& right : expected(call)) {
      for (const Oracle& oracle : oracles) {
        if (unseen.count(oracle.mistake) == 1 && named_as_itself(call, right, oracle, oracles)) {
          unseen.erase(oracle.mistake);
        }
      }
    }
  }
  std::string names;
  for (const std::string& mistake : unseen) {
    names += (names.empty() ? "" : ", ") + mistake;
  }
  return names;
}

std::string scattered(const std::vector<Oracle>& oracles) {
  std::string names;
  std::set<std::string> seen;
  std::string last;
  for (const Oracle& oracle : oracles) {
    const bool again = oracle.mistake != last && !seen.insert(oracle.mistake).second;
    if (again || oracle.sentence.empty()) {
      names += (names.empty() ? "" : ", ") + oracle.mistake;
    }
    last = oracle.mistake;
  }
  return names;
}

}  // namespace onepass::tests
