#include "verdict/diagnosis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <optional>

#include "verdict/alternatives.h"
#include "verdict/contract/call.h"
#include "verdict/pattern.h"

namespace onepass::verdict {
namespace {

constexpr std::int64_t kMostBlocksInY = 65535;  // and in z
// Of the distance from the right result: so near to another one is not by chance.
constexpr double kNearer = 0.5;
// Bounds, on average: numbers of 16 bits that a formula gives are those that it is rounded to, but
// for a few that are one step off.
constexpr double kRounded = 1.0;

/// |got - oracle| in units of the bound, which grows with the oracle's value where that is larger.
double distance(double got, double oracle, double value, double bound) {
  if (got == oracle || (std::isnan(got) && std::isnan(oracle))) {
    return 0.0;
  }
  const double growth = value == 0.0 ? 1.0 : std::max(1.0, std::abs(oracle / value));
  const double ratio = std::abs(got - oracle) / (bound * growth);
  return std::isnan(ratio) ? std::numeric_limits<double>::infinity() : ratio;
}

/// What is left of the bound in a row where the oracle's numbers are so much smaller than the right
/// ones: among numbers near 0 a bound that was made for large ones tells nothing apart.
double shrinkage(const Field& right, const Field& oracle, std::int64_t row) {
  constexpr double kLeast = 1.0 / 1024;  // what cancels leaves the rounding of what was added
  double largest_right = 0.0;
  double largest_oracle = 0.0;
  for (std::int64_t col = 0; col < right.cols; ++col) {
    largest_right = std::max(largest_right, std::abs(right(row, col)));
    largest_oracle = std::max(largest_oracle, std::abs(oracle(row, col)));
  }
  return largest_oracle < largest_right ? std::max(kLeast, largest_oracle / largest_right) : 1.0;
}

/// The mean distance of `got` from the oracle, or nothing if the oracle does not explain it.
std::optional<double> mean_distance(const Matrix& got, const Expectation& expectation,
                                    const Field& oracle, double slack) {
  double sum = 0.0;
  double from_right = 0.0;
  std::int64_t wrong = 0;
  std::int64_t foreseen = 0;
  bool is_number = false;  // of those that are wrong, any: NaN comes of anything
  for (std::int64_t row = 0; row < got.rows(); ++row) {
    const double left = shrinkage(expectation.value, oracle, row);
    for (std::int64_t col = 0; col < got.cols(); ++col) {
      const double right = expectation.value(row, col);
      const double limit = expectation.bound(row, col);
      // What a kernel with this mistake stores is rounded to the type; large results become
      // infinite.
      const double result = round_to(got.dtype(), oracle(row, col));
      const double element = got.get(row, col);
      const double off = std::min(distance(element, oracle(row, col), right, left * limit),
                                  distance(element, result, right, left * limit));
      // Noise makes no 0 of another number.
      if (!(off <= slack) || (element == 0.0 && std::abs(result) > limit)) {
        return std::nullopt;
      }
      sum += off;
      from_right += distance(element, right, right, limit);
      if (!(std::abs(element - right) <= limit)) {
        ++wrong;
        foreseen += !(std::abs(result - right) <= limit) ? 1 : 0;
        is_number = is_number || !std::isnan(element);
      }
    }
  }
  // More slack than usual is for noise, which no oracle repeats.
  const bool is_exact = slack <= kSlack;
  if (2 * foreseen < wrong || (wrong == got.size() && !is_number) ||
      (is_exact && sum > kNearer * from_right) ||
      (is_exact && size_of(got.dtype()) == 2 && sum > kRounded * static_cast<double>(got.size()))) {
    return std::nullopt;
  }
  return sum / static_cast<double>(got.size());
}

WrongRows wrong_rows(const Expectation& right, const Matrix& got,
                     const std::vector<LaunchSize>& launches) {
  WrongRows wrong{.rows = got.rows(), .launches = launches};
  for (std::int64_t row = 0; row < got.rows(); ++row) {
    bool is_right = true;
    for (std::int64_t col = 0; col < got.cols() && is_right; ++col) {
      is_right = std::abs(got.get(row, col) - right.value(row, col)) <= right.bound(row, col);
    }
    if (!is_right) {
      wrong.first = wrong.first < 0 ? row : wrong.first;
      wrong.last = row;
    } else if (wrong.first >= 0 && wrong.right_again < 0) {
      wrong.right_again = row;
    }
  }
  return wrong;
}

/// Has the output rows, and is something computed from whole rows that has one number a row?
bool needs_sums_of_rows(const Case& call, const std::string& output) {
  if (call.contract() == nullptr) {
    return false;
  }
  const contract::Tensor* itself = call.contract()->find(output);
  return itself != nullptr && itself->rows != contract::Extent(1) &&
         std::any_of(call.contract()->tensors.begin(), call.contract()->tensors.end(),
                     [&](const contract::Tensor& tensor) {
                       return tensor.is_data() && tensor.cols == contract::Extent(1) &&
                              !is_integer(tensor.dtype_in(call.dtype()));
                     });
}

Diagnosis explain_unwritten(const std::string& output, const Comparison& comparison,
                            const std::function<bool()>& is_left_over) {
  const Pattern unwritten = describe(comparison.unwritten_mask);
  const std::int64_t missing = unwritten.cols.size - unwritten.cols.first;
  const bool whole_rows = unwritten.product && unwritten.cols.kind == IndexSet::Kind::all;
  if (unwritten.product && unwritten.rows.kind == IndexSet::Kind::all && unwritten.cols.is_tail()) {
    if (unwritten.cols.first % 32 == 0 && missing >= 16) {
      return {"no-stride-loop",
              fmt::format("Only the first {} columns of {} were written: let each thread walk on "
                          "through the row in steps of the number of threads, or, where several "
                          "blocks have columns of it, round the number of blocks up.",
                          unwritten.cols.first, output)};
    }
    if (missing < 16 && is_left_over()) {
      return {
          "tail-dropped",
          fmt::format("Of each row the last {} left out: what does not fill a whole vector or a "
                      "whole step needs its turn.",
                      missing == 1 ? "column was" : fmt::format("{} columns were", missing))};
    }
  }
  if (whole_rows && unwritten.rows.is_tail() && unwritten.rows.count <= 32 && is_left_over()) {
    return {"rows-not-multiple",
            fmt::format("The last {} row{} not written: round the number of blocks up, and let the "
                        "last block check that its rows exist.",
                        unwritten.rows.count, unwritten.rows.count == 1 ? " was" : "s were")};
  }
  return {"output-partly-written",
          fmt::format("{} was never written; unwritten in all: {}.",
                      element_name(output, unwritten.rows.size, unwritten.cols.size,
                                   *comparison.first_unwritten),
                      unwritten.text)};
}

/// Does the simulator say so of a side of the grid? A GPU tells no numbers.
bool is_grid_negative(const std::string& error) {
  const std::size_t grid = error.find("The grid is ");
  return grid != std::string::npos && error.find('-', grid) < error.find(':', grid);
}

/// Was it the grid's y or z that was asked too much for? A GPU does not say what was: nothing.
std::optional<bool> is_grid_limit(const std::string& error) {
  int x = 0;
  int y = 0;
  int z = 0;
  const std::size_t grid = error.find("The grid is ");
  if (grid != std::string::npos) {
    return std::sscanf(error.c_str() + grid, "The grid is %d x %d x %d", &x, &y, &z) == 3 &&
           std::max(y, z) > kMostBlocksInY;
  }
  const bool other = error.find("The block is ") != std::string::npos ||
                     error.find("The launch asks for ") != std::string::npos;
  return other ? std::optional(false) : std::nullopt;
}

/// The one size that is larger than the grid's y may be, of those that are no width: a launch has
/// blocks for them. Empty if there are several or none.
std::string most_numerous(const Case& call) {
  std::string name;
  for (const contract::Size& size : call.contract()->sizes) {
    if (size.is_argument && !size.is_width && call.integer(size.name) > kMostBlocksInY) {
      if (!name.empty()) {
        return "";
      }
      name = size.name;
    }
  }
  return name;
}

/// The name of a size that is 0; empty if none is.
std::string empty_size(const Case& call) {
  if (call.contract() != nullptr) {
    for (const contract::Size& size : call.contract()->sizes) {
      if (size.is_argument && call.integer(size.name) == 0) {
        return size.name;
      }
    }
  }
  return "";
}

/// Are there, of all sizes together, more elements than an int can count?
bool is_beyond_int(const Case& call) {
  double elements = 1.0;
  if (call.contract() != nullptr) {
    for (const contract::Size& size : call.contract()->sizes) {
      elements *= size.is_argument ? static_cast<double>(call.integer(size.name)) : 1.0;
    }
  }
  return elements > std::numeric_limits<int>::max();
}

}  // namespace

std::optional<Case> in_fp32(const Case& call) {
  return contract::in_dtype(call, Dtype::fp32);
}

std::optional<Case> in_other_order(const Case& call) {
  return contract::with_other_choice(call);
}

std::optional<Case> unaligned(const Case& call) {
  return contract::one_element_off(call);
}

bool is_exact(const Suspect& suspect) {
  return suspect.oracle->noise.slack <= kSlack;
}

std::vector<Suspect> that_explain(const Case& call, const Expectation& right, const Matrix& got,
                                  std::vector<Suspect> suspects,
                                  const std::vector<LaunchSize>& launches) {
  const WrongRows wrong = wrong_rows(right, got, launches);
  std::erase_if(suspects, [&](Suspect& suspect) {
    const std::optional<Field> result = suspect.oracle->result(call, right.output, wrong);
    const std::optional<double> away =
        result ? mean_distance(got, right, *result, suspect.oracle->noise.slack) : std::nullopt;
    suspect.away += away.value_or(0.0);
    return !away;
  });
  return suspects;
}

std::vector<Suspect> that_are_silent(const Case& call, const Expectation& right, const Matrix& got,
                                     std::vector<Suspect> suspects,
                                     const std::vector<LaunchSize>& launches) {
  const WrongRows wrong = wrong_rows(right, got, launches);
  std::erase_if(suspects, [&](const Suspect& suspect) {
    return suspect.oracle->result(call, right.output, wrong).has_value();
  });
  return suspects;
}

std::vector<Diagnosis> nearest(const std::vector<Suspect>& suspects, bool sentences, double tie) {
  double least = std::numeric_limits<double>::infinity();
  double exact = least;
  for (const Suspect& suspect : suspects) {
    least = std::min(least, suspect.away);
    exact = is_exact(suspect) ? std::min(exact, suspect.away) : exact;
  }
  // Of the many ways that noise may come about one is a little nearer by chance.
  least = exact <= least + kTieOfWays ? exact : least;
  std::vector<Diagnosis> all;
  std::vector<std::vector<std::string>> said;  // of each mistake
  for (const Suspect& suspect : suspects) {
    const Oracle& oracle = *suspect.oracle;
    const auto known = std::find_if(all.begin(), all.end(), [&](const Diagnosis& other) {
      return other.mistake == oracle.mistake && (!sentences || other.sentence == oracle.sentence);
    });
    if (suspect.away > least + tie) {
      continue;
    }
    if (known == all.end()) {
      all.push_back({oracle.mistake, oracle.sentence});
      said.push_back({oracle.sentence});
    } else {
      said[static_cast<std::size_t>(known - all.begin())].push_back(oracle.sentence);
    }
  }
  for (std::size_t i = 0; i < all.size() && !sentences; ++i) {
    all[i].sentence = with_all_numbers(said[i]).value_or(all[i].sentence);
  }
  return all;
}

std::optional<Diagnosis> explain_pattern(const Case& call, const std::string& output,
                                         const Comparison& comparison,
                                         const std::function<bool()>& is_left_over) {
  if (comparison.unwritten > 0) {
    return explain_unwritten(output, comparison, is_left_over);
  }
  const Pattern wrong = describe(comparison.wrong_mask);
  const IndexSet& cols = wrong.cols;
  if (wrong.product && cols.kind == IndexSet::Kind::all_but_some && cols.size > 1 &&
      (cols.width == 1 || cols.width == 32) && cols.period % 32 == 0 &&
      needs_sums_of_rows(call, output)) {
    const bool lane = cols.width == 1 && cols.period == 32;
    const char* who = lane              ? "lane 0 of each warp"
                      : cols.width == 1 ? "thread 0"
                                        : "the first warp";
    return Diagnosis{
        "sum-not-broadcast",
        fmt::format("Only the columns of {} are right: the other threads never got the "
                    "total.",
                    who)};
  }
  return std::nullopt;
}

Diagnosis explain_launch_error(const Case& call, const std::string& error) {
  if (error.find("cudaErrorMemoryAllocation") != std::string::npos) {
    return {"launch-failed",
            "The launcher has asked for memory, and there is not that much: look at the number of "
            "bytes, or do with what the arguments bring."};
  }
  if (error.find("must be allowed first") != std::string::npos) {
    return {"launch-failed", "Allow as much as the call needs, before each launch that needs it."};
  }
  if (error.find("memory is allowed first") != std::string::npos) {
    return {
        "launch-failed",
        "Allow more before each launch that needs it: the __shared__ arrays and what the launch "
        "asks for count together."};
  }
  if (error.find("__launch_bounds__") != std::string::npos) {
    return {"launch-failed", "Launch no more threads than they allow, or let them allow more."};
  }
  if (error.find("nvcc allows") != std::string::npos) {
    return {"launch-failed", "The simulator ran it; for a GPU it would not be compiled."};
  }
  if (error.find("cudaDevAttrClusterLaunch") != std::string::npos) {
    return {"launch-failed",
            "Where the GPU has none, launch no clusters for any call: not for the largest either."};
  }
  if (error.find("cudaErrorInvalidClusterSize") != std::string::npos) {
    return {"launch-failed",
            "Launch clusters of 8 blocks or fewer, and as many blocks as give whole clusters."};
  }
  const bool bad_value =
      error.find("Invalid") != std::string::npos || error.find("invalid") != std::string::npos;
  if (is_grid_negative(error)) {
    if (is_beyond_int(call)) {
      return {
          "index-overflow",
          "The number of blocks came out negative, or beyond 2^31 - 1: compute it in 64 bits, as "
          "int64_t, and give a block so much to do that there are no more."};
    }
    return {"launch-failed", "The number of blocks came out negative: look at how it is computed."};
  }
  if (const std::string none = empty_size(call); bad_value && !none.empty()) {
    return {"launch-failed",
            fmt::format("In this call {} is 0: leave out a launch that has no blocks then.", none)};
  }
  if (bad_value && call.contract() != nullptr) {
    const std::string most = most_numerous(call);
    if (is_grid_limit(error).value_or(!most.empty())) {
      return {"grid-limit",
              fmt::format("The grid may be at most 65,535 blocks in y and z, but 2^31 - 1 in x: "
                          "put the {} in x.",
                          most.empty() ? "most numerous" : most)};
    }
    for (const std::string& size : call.contract()->col_sizes()) {
      if (call.integer(size) > kMostThreads) {
        return {"shared-row-too-big",
                fmt::format("With {} = {} the launch asks for more threads or more shared memory "
                            "than a block can have: let each thread do several of them.",
                            size, call.integer(size))};
      }
    }
  }
  return {"launch-failed",
          "The kernel was never started: look at the launch's grid, block and shared "
          "memory sizes."};
}

}  // namespace onepass::verdict
