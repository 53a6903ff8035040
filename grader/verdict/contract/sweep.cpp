#include "verdict/contract/sweep.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace onepass::verdict::contract {
namespace {

constexpr std::int64_t kOddGap = 7;
constexpr std::size_t kMostPairs = 6;  // of tensors that are off a boundary together

/// One way that a tensor may lie; of all of them, that their rows fill no vector, though each may
/// start with one.
struct Option {
  enum Kind { odd_rows, padded_rows, offset, gap, left_out, over, views } kind;
  std::string tensor = {};
  std::int64_t elements = 0;          // of an offset or a gap
  std::vector<Columns> columns = {};  // of views
};

void apply(const Option& option, const Function& function, Way& way) {
  switch (option.kind) {
    case Option::odd_rows:
      way.odd_rows = true;
      break;
    case Option::padded_rows:
      way.odd_rows = true;
      for (const Tensor& tensor : function.tensors) {
        way.arrangement.places[tensor.name].padded = tensor.traits.strided;
      }
      break;
    case Option::offset:
      way.arrangement.places[option.tensor].offset = option.elements;
      break;
    case Option::gap:
      way.arrangement.places[option.tensor].gap = option.elements;
      break;
    case Option::left_out:
      way.arrangement.left_out.insert(option.tensor);
      break;
    case Option::over:
      way.arrangement.over.insert(option.tensor);
      break;
    case Option::views:
      way.arrangement.views = option.columns;
      break;
  }
}

bool has(const std::vector<Columns>& views, const std::string& tensor) {
  return std::any_of(views.begin(), views.end(),
                     [&](const Columns& view) { return view.tensor == tensor; });
}

/// A tensor has one offset and one gap, or, where it has no place of its own, none.
bool exclude(const Option& a, const Option& b) {
  if (a.kind == Option::padded_rows || b.kind == Option::padded_rows) {
    const Option::Kind other = a.kind == Option::padded_rows ? b.kind : a.kind;
    return other == Option::padded_rows || other == Option::odd_rows || other == Option::gap;
  }
  const auto has_no_place = [](const Option& option) {
    return option.kind == Option::left_out || option.kind == Option::over;
  };
  if (a.kind == Option::views || b.kind == Option::views) {
    return (has_no_place(a) && has(b.columns, a.tensor)) ||
           (has_no_place(b) && has(a.columns, b.tensor));
  }
  return a.tensor == b.tensor && (a.kind == b.kind || has_no_place(a) || has_no_place(b));
}

/// offsets: of a tensor, from the number of its elements in a vector.
template <typename Offsets>
std::vector<Option> options_of(const Function& function, Dtype dtype,
                               const std::set<std::string>& only, Offsets offsets) {
  std::vector<Option> options = {{Option::odd_rows}, {Option::padded_rows}};
  for (const Tensor& tensor : function.tensors) {
    if (!tensor.is_data() || (!only.empty() && only.count(tensor.name) == 0)) {
      continue;
    }
    const auto vector = 16 / static_cast<std::int64_t>(size_of(tensor.dtype_in(dtype)));
    for (const std::int64_t elements : offsets(tensor, vector)) {
      options.push_back({Option::offset, tensor.name, elements});
    }
    if (tensor.traits.strided) {
      options.push_back({Option::gap, tensor.name, 2 * vector});
      options.push_back({Option::gap, tensor.name, dtype == Dtype::bf16 ? vector / 2 : kOddGap});
    }
    if (tensor.traits.optional) {
      options.push_back({Option::left_out, tensor.name});
    }
    if (!tensor.traits.over.empty()) {
      options.push_back({Option::over, tensor.name});
    }
  }
  return options;
}

/// Tensors with strides as views of one matrix: all of them, side by side in this order and in the
/// other; and each two, one right behind the other, of which one has a stride twice as large.
std::vector<Option> views_of(const Function& function, const std::set<std::string>& only) {
  std::vector<Columns> all;
  for (const Tensor& tensor : function.tensors) {
    if (tensor.traits.strided && (only.empty() || only.count(tensor.name) > 0)) {
      all.push_back({tensor.name});
    }
  }
  std::vector<Option> options;
  if (all.size() < 2) {
    return options;
  }
  options.push_back({.kind = Option::views, .columns = all});
  options.push_back({.kind = Option::views, .columns = {all.rbegin(), all.rend()}});
  for (const Columns& left : all) {
    for (const Columns& right : all) {
      if (left.tensor != right.tensor) {
        const std::int64_t every = options.size() % 2 == 0 ? 1 : 2;
        options.push_back(
            {.kind = Option::views, .columns = {{left.tensor, every}, {right.tensor, 3 - every}}});
      }
    }
  }
  return options;
}

/// All tensors alike: off a boundary, rows apart, left out, over their inputs.
std::vector<Way> alike(const Function& function, std::int64_t gap) {
  std::vector<Way> ways(4);
  ways[2].arrangement = without_optional(function);
  for (const Tensor& tensor : function.tensors) {
    if (!tensor.is_data()) {
      continue;
    }
    ways[0].arrangement.places[tensor.name].offset = 1;
    if (tensor.traits.strided) {
      ways[1].arrangement.places[tensor.name].gap = gap;
    }
    if (!tensor.traits.over.empty()) {
      ways[3].arrangement.over.insert(tensor.name);
    }
  }
  const auto is_plain = [](const Way& way) {
    const Arrangement& arrangement = way.arrangement;
    return arrangement.places.empty() && arrangement.left_out.empty() && arrangement.over.empty();
  };
  ways.erase(std::remove_if(ways.begin(), ways.end(), is_plain), ways.end());
  return ways;
}

/// Rows of each length beside whole vectors, with all tensors off a boundary by one number that is
/// even, and by one that is odd: from row to row they are off by other ones. In bf16 they are what
/// they are in fp16.
std::vector<Way> alike_with_ends(const Function& function, Dtype dtype, const Random& random) {
  std::vector<Way> ways;
  const auto vector = 16 / static_cast<std::int64_t>(size_of(dtype));
  const Random draw = random.stream("ends of rows");
  for (std::int64_t more = 1; more < vector && dtype != Dtype::bf16; ++more) {
    for (const std::int64_t odd : {0, 1}) {
      Way& way = ways.emplace_back();
      way.more = more;
      const auto number = static_cast<std::uint64_t>(2 * more + odd);
      const std::int64_t offset = 2 * draw.integer(number, 0, vector / 2 - 1) + odd;
      for (const Tensor& tensor : function.tensors) {
        if (tensor.is_data()) {
          way.arrangement.places[tensor.name].offset = offset;
        }
      }
    }
  }
  return ways;
}

/// For options_of(): an offset of each tensor that is drawn.
auto drawn_offset(const Random& random) {
  return [&random](const Tensor& tensor, std::int64_t vector) {
    return std::vector{random.stream(tensor.name).integer(0, 1, vector - 1)};
  };
}

const Option& one_of(const std::vector<Option>& views, const Random& random) {
  const auto last = static_cast<std::int64_t>(views.size()) - 1;
  return views[static_cast<std::size_t>(random.stream("views").integer(0, 0, last))];
}

using Pair = std::pair<std::size_t, std::size_t>;  // numbers of options, the smaller first

std::set<Pair> all_pairs(const std::vector<Option>& options) {
  std::set<Pair> pairs;
  for (std::size_t a = 0; a < options.size(); ++a) {
    for (std::size_t b = a + 1; b < options.size(); ++b) {
      if (!exclude(options[a], options[b])) {
        pairs.emplace(a, b);
      }
    }
  }
  return pairs;
}

/// The first pair that has not met, and every further option that lets another such pair meet.
/// Those that meet are taken out of `pairs`.
std::vector<std::size_t> next_row(const std::vector<Option>& options, std::set<Pair>& pairs) {
  std::vector<std::size_t> row = {pairs.begin()->first, pairs.begin()->second};
  pairs.erase(pairs.begin());
  for (std::size_t option = 0; option < options.size(); ++option) {
    const bool fits = std::none_of(row.begin(), row.end(), [&](std::size_t other) {
      return other == option || exclude(options[other], options[option]);
    });
    std::size_t met = 0;
    for (std::size_t i = 0; fits && i < row.size(); ++i) {
      met += pairs.erase(std::minmax(row[i], option));
    }
    if (met > 0) {
      row.push_back(option);
    }
  }
  return row;
}

}  // namespace

Arrangement just_aligned(const Function& function, Dtype dtype) {
  Arrangement arrangement;
  for (const Tensor& tensor : function.tensors) {
    const std::size_t size = size_of(tensor.dtype_in(dtype));
    arrangement.places[tensor.name].offset = static_cast<std::int64_t>(16 / size);
  }
  return arrangement;
}

Arrangement without_optional(const Function& function, Arrangement arrangement) {
  for (const Tensor& tensor : function.tensors) {
    if (tensor.traits.optional) {
      arrangement.places.erase(tensor.name);
      arrangement.left_out.insert(tensor.name);
    }
  }
  return arrangement;
}

bool Way::has_gaps() const {
  return !arrangement.views.empty() ||
         std::any_of(arrangement.places.begin(), arrangement.places.end(), [](const auto& place) {
           return place.second.gap != 0 || place.second.padded;
         });
}

std::vector<Way> sweep(const Function& function, Dtype dtype, const Random& random,
                       const std::set<std::string>& only) {
  std::vector<Way> ways = {{}};
  const auto every = [&](const Tensor&, std::int64_t vector) {
    std::vector<std::int64_t> offsets;
    // In bf16 one of each alignment: fp16 has as many offsets, and shows them all.
    for (std::int64_t offset = 1; offset < vector; offset += dtype == Dtype::bf16 ? offset : 1) {
      offsets.push_back(offset);
    }
    return offsets;
  };
  const std::vector<Option> views = views_of(function, only);
  for (const Option& option : options_of(function, dtype, only, every)) {
    apply(option, function, ways.emplace_back());
  }
  for (const Option& option : dtype == Dtype::bf16 ? std::vector<Option>() : views) {
    apply(option, function, ways.emplace_back());
  }
  const std::vector<Way> all_alike = alike(function, kOddGap);
  ways.insert(ways.end(), all_alike.begin(), all_alike.end());
  const std::vector<Way> with_ends = alike_with_ends(function, dtype, random);
  ways.insert(ways.end(), with_ends.begin(), with_ends.end());
  ways.push_back({just_aligned(function, dtype)});
  for (Arrangement& pair : pairs_off_boundaries(function, dtype, random, only)) {
    ways.push_back({std::move(pair)});
  }
  std::vector<Option> options = options_of(function, dtype, only, drawn_offset(random));
  if (!views.empty()) {
    options.push_back(one_of(views, random));
  }
  for (std::set<Pair> pairs = all_pairs(options); !pairs.empty();) {
    Way& way = ways.emplace_back();
    for (const std::size_t option : next_row(options, pairs)) {
      apply(options[option], function, way);
    }
  }
  return ways;
}

std::vector<Arrangement> pairs_off_boundaries(const Function& function, Dtype dtype,
                                              const Random& random,
                                              const std::set<std::string>& only) {
  std::vector<const Tensor*> tensors;
  for (const Tensor& tensor : function.tensors) {
    if (tensor.is_data() && (only.empty() || only.count(tensor.name) > 0)) {
      tensors.push_back(&tensor);
    }
  }
  const Random draw = random.stream("pairs off boundaries");
  std::map<std::uint64_t, Arrangement> pairs;  // in the order that is drawn
  for (std::size_t a = 0; a < tensors.size(); ++a) {
    for (std::size_t b = a + 1; b < tensors.size(); ++b) {
      const std::uint64_t number = draw.bits(a * tensors.size() + b);
      Arrangement& pair = pairs[number];
      for (const Tensor* tensor : {tensors[a], tensors[b]}) {
        const auto bytes = static_cast<std::int64_t>(size_of(tensor->dtype_in(dtype)));
        pair.places[tensor->name].offset =
            (number % 2 == 0 ? 8 : std::max<std::int64_t>(4, bytes)) / bytes;
      }
    }
  }
  std::vector<Arrangement> some;
  for (auto& [number, pair] : pairs) {
    if (some.size() < kMostPairs) {
      some.push_back(std::move(pair));
    }
  }
  return some;
}

std::vector<Way> sweep_wide(const Function& function, Dtype dtype, const Random& random,
                            std::int64_t cols) {
  std::vector<Way> ways = alike(function, cols / 4 + kOddGap);
  // Three at once: wide, off a boundary, and null what may be.
  const Arrangement without = without_optional(function, ways[0].arrangement);
  if (!without.left_out.empty()) {
    ways.push_back({without});
  }
  std::vector<Option> options = options_of(function, dtype, {}, drawn_offset(random));
  if (const std::vector<Option> views = views_of(function, {}); !views.empty()) {
    options.push_back(one_of(views, random));
  }
  const auto last = static_cast<std::int64_t>(options.size()) - 1;
  Option& option = options[static_cast<std::size_t>(random.integer(0, 0, last))];
  option.elements += option.kind == Option::gap ? cols / 4 / 16 * 16 : 0;
  apply(option, function, ways.emplace_back());
  return ways;
}

Arrangement drawn(const Function& function, const Random& random) {
  Arrangement arrangement;
  std::uint64_t number = 0;
  for (const Tensor& tensor : function.tensors) {
    if (tensor.is_scratch()) {
      continue;  // aligned always
    }
    arrangement.places[tensor.name] = {tensor.traits.strided ? random.integer(number, 0, 40) : 0,
                                       random.integer(number + 1, 0, 9)};
    const bool other = random.integer(number + 2, 0, 3) == 0;
    if (tensor.traits.optional && other) {
      arrangement.left_out.insert(tensor.name);
    }
    if (!tensor.traits.over.empty() && other) {
      arrangement.over.insert(tensor.name);
    }
    number += 3;
  }
  const std::vector<Option> views = views_of(function, {});
  if (!views.empty() && random.integer(number, 0, 3) == 0) {
    arrangement.views = one_of(views, random).columns;
  }
  return arrangement;
}

}  // namespace onepass::verdict::contract
