#include "verdict/contract/sweep.h"

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <utility>

namespace onepass::verdict::contract {
namespace {

constexpr std::int64_t kOddGap = 7;

/// One thing that can be chosen: of its levels, the first is the plain one.
struct Factor {
  std::string tensor;  // empty: the width of the rows
  std::vector<std::function<void(Way&)>> levels;
  bool moves =
      false;  // says where the tensor lies: nothing to choose if it has no place of its own
  bool removes = false;  // its second level leaves the tensor no place of its own
};

std::int64_t vector_of(const Tensor& tensor, Dtype dtype) {
  return 16 / static_cast<std::int64_t>(size_of(tensor.dtype_in(dtype)));
}

void plain(Way&) {}

Factor offset_of(const Tensor& tensor, const std::vector<std::int64_t>& offsets) {
  Factor factor{tensor.name, {plain}, true, false};
  for (std::int64_t offset : offsets) {
    factor.levels.emplace_back(
        [name = tensor.name, offset](Way& way) { way.arrangement.places[name].offset = offset; });
  }
  return factor;
}

Factor gap_of(const Tensor& tensor, std::int64_t vector) {
  Factor factor{tensor.name, {plain}, true, false};
  for (std::int64_t gap : {2 * vector, kOddGap}) {
    factor.levels.emplace_back(
        [name = tensor.name, gap](Way& way) { way.arrangement.places[name].gap = gap; });
  }
  return factor;
}

/// offsets: those of a tensor, from its number of elements in a vector.
std::vector<Factor> factors_of(
    const Function& function, Dtype dtype,
    const std::function<std::vector<std::int64_t>(const Tensor&, std::int64_t vector)>& offsets) {
  std::vector<Factor> factors = {
      {"", {plain, [](Way& way) { way.odd_rows = true; }}, false, false}};
  for (const Tensor& tensor : function.tensors) {
    if (tensor.scratch != nullptr) {
      continue;
    }
    const std::int64_t vector = vector_of(tensor, dtype);
    factors.push_back(offset_of(tensor, offsets(tensor, vector)));
    if (tensor.is_strided) {
      factors.push_back(gap_of(tensor, vector));
    }
    if (tensor.is_optional) {
      factors.push_back(
          {tensor.name,
           {plain, [name = tensor.name](Way& way) { way.arrangement.left_out.insert(name); }},
           false,
           true});
    }
    if (!tensor.may_be_over.empty()) {
      factors.push_back(
          {tensor.name,
           {plain, [name = tensor.name](Way& way) { way.arrangement.over.insert(name); }},
           false,
           true});
    }
  }
  return factors;
}

using Row = std::vector<std::size_t>;  // a level of each factor

constexpr std::size_t kOpen = ~std::size_t{0};

/// A tensor without a place of its own cannot lie in any way but the plain one.
bool excluded(const Factor& a, std::size_t level_a, const Factor& b, std::size_t level_b) {
  return a.tensor == b.tensor && level_a > 0 && level_b > 0 &&
         ((a.removes && b.moves) || (b.removes && a.moves));
}

/// The pairs of levels, of different factors, that have not met yet. What meets a plain level is
/// not among them: each way alone does.
class Pairs {
 public:
  explicit Pairs(const std::vector<Factor>& factors) : factors_(factors) {
    for (std::size_t a = 0; a < factors.size(); ++a) {
      for (std::size_t b = a + 1; b < factors.size(); ++b) {
        for (std::size_t i = 1; i < factors[a].levels.size(); ++i) {
          for (std::size_t j = 1; j < factors[b].levels.size(); ++j) {
            if (!excluded(factors[a], i, factors[b], j)) {
              open_.insert({{a, i}, {b, j}});
            }
          }
        }
      }
    }
  }

  bool empty() const { return open_.empty(); }

  /// A row with the first open pair and as many others as choosing one factor after the other
  /// gives.
  Row next() const {
    Row row(factors_.size(), kOpen);
    const auto& [first, second] = *open_.begin();
    row[first.first] = first.second;
    row[second.first] = second.second;
    for (std::size_t factor = 0; factor < row.size(); ++factor) {
      if (row[factor] == kOpen) {
        row[factor] = best_level(row, factor);
      }
    }
    return row;
  }

  void met(const Row& row) {
    for (std::size_t a = 0; a < row.size(); ++a) {
      for (std::size_t b = a + 1; b < row.size(); ++b) {
        open_.erase({{a, row[a]}, {b, row[b]}});
      }
    }
  }

 private:
  using Choice = std::pair<std::size_t, std::size_t>;  // a factor and its level

  /// How many open pairs the level closes; -1 if it cannot be with the others.
  int gain(const Row& row, std::size_t factor, std::size_t level) const {
    int count = 0;
    for (std::size_t other = 0; other < row.size(); ++other) {
      if (row[other] == kOpen) {
        continue;
      }
      if (excluded(factors_[factor], level, factors_[other], row[other])) {
        return -1;
      }
      const Choice a = {factor, level};
      const Choice b = {other, row[other]};
      count += static_cast<int>(open_.count({std::min(a, b), std::max(a, b)}));
    }
    return count;
  }

  std::size_t best_level(const Row& row, std::size_t factor) const {
    std::size_t best = 0;
    for (std::size_t level = 1; level < factors_[factor].levels.size(); ++level) {
      if (gain(row, factor, level) > gain(row, factor, best)) {
        best = level;
      }
    }
    return best;
  }

  const std::vector<Factor>& factors_;
  std::set<std::pair<Choice, Choice>> open_;
};

}  // namespace

std::vector<Way> sweep(const Function& whole, Dtype dtype, const Random& random,
                       const std::set<std::string>& only) {
  Function function = whole;
  if (!only.empty()) {
    std::erase_if(function.tensors,
                  [&](const Tensor& tensor) { return only.count(tensor.name) == 0; });
  }
  std::vector<Way> ways = {{}};
  const auto every = [&](const Tensor&, std::int64_t vector) {
    std::vector<std::int64_t> offsets;
    // In bf16 one of each alignment: fp16 has as many offsets, and shows them all.
    for (std::int64_t offset = 1; offset < vector; offset += dtype == Dtype::bf16 ? offset : 1) {
      offsets.push_back(offset);
    }
    return offsets;
  };
  for (const Factor& factor : factors_of(function, dtype, every)) {
    for (std::size_t level = 1; level < factor.levels.size(); ++level) {
      factor.levels[level](ways.emplace_back());
    }
  }
  const auto drawn = [&](const Tensor& tensor, std::int64_t vector) {
    return std::vector{random.stream(tensor.name).integer(0, 1, vector - 1)};
  };
  const std::vector<Factor> factors = factors_of(function, dtype, drawn);
  for (Pairs pairs(factors); !pairs.empty();) {
    const Row row = pairs.next();
    pairs.met(row);
    Way& way = ways.emplace_back();
    for (std::size_t factor = 0; factor < row.size(); ++factor) {
      factors[factor].levels[row[factor]](way);
    }
  }
  return ways;
}

Arrangement drawn(const Function& function, const Random& random) {
  Arrangement arrangement;
  std::uint64_t number = 0;
  for (const Tensor& tensor : function.tensors) {
    const std::int64_t gap = random.integer(number++, 0, 40);
    const std::int64_t offset = random.integer(number++, 0, 9);
    const bool other = random.integer(number++, 0, 3) == 0;
    if (tensor.scratch == nullptr) {
      arrangement.places[tensor.name] = {tensor.is_strided ? gap : 0, offset};
    }
    if (tensor.is_optional && other) {
      arrangement.left_out.insert(tensor.name);
    }
    if (!tensor.may_be_over.empty() && other) {
      arrangement.over.insert(tensor.name);
    }
  }
  return arrangement;
}

std::vector<Arrangement> far_apart(const Function& function) {
  std::vector<Arrangement> arrangements;
  for (const Tensor& tensor : function.tensors) {
    if (tensor.is_strided) {
      arrangements.push_back({{tensor.name, {.gap = std::int64_t{1} << 30}}});
    }
  }
  return arrangements;
}

std::vector<std::int64_t> widths(std::int64_t least, std::int64_t most) {
  std::set<std::int64_t> all;
  for (std::int64_t power = 2; power <= 1024; power *= 2) {
    for (std::int64_t width : {power - 1, power, power + 1}) {
      if (least <= width && width <= most) {
        all.insert(width);
      }
    }
  }
  return {all.begin(), all.end()};
}

}  // namespace onepass::verdict::contract
