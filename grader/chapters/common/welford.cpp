#include "chapters/common/welford.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

#include "chapters/common/row_sum.h"

namespace onepass::common {
namespace {

constexpr std::size_t kSlots = 32;  // as many as a warp has lanes

/// So many numbers, their mean, and the squares of their distances from it.
struct Part {
  double count = 0.0, mean = 0.0, squares = 0.0;
};

using Merge = Part (*)(const Part& a, const Part& b);

double squared_distance(const Part& a, const Part& b) {
  return (b.mean - a.mean) * (b.mean - a.mean);
}

double weighted_mean(const Part& a, const Part& b) {
  const double count = a.count + b.count;
  return count > 0.0 ? (a.count * a.mean + b.count * b.mean) / count : 0.0;
}

/// What the squares lack without it.
double between(const Part& a, const Part& b) {
  const double count = a.count + b.count;
  return count > 0.0 ? squared_distance(a, b) * a.count * b.count / count : 0.0;
}

const char* const kHalfAndHalf =
    "Means were merged with equal weights, however many elements each is of: weigh them with their "
    "counts, as threads at the end of the row have fewer elements, or none.";
const char* const kNothingBetween =
    "The sums of squares were added up as they are: the distance of the two means belongs to them, "
    "as delta * delta * n_a * n_b / (n_a + n_b).";
const char* const kOtherCounts =
    "What each merge adds to the squares is not what it should be: "
    "delta * delta * n_a * n_b / (n_a + n_b), with the counts as they were before it. "
    "Of a single element that comes to delta * (x - the new mean).";

const char* const kCountsKept =
    "The counts did not grow with the merges: what two parts have together weighs as much as one "
    "of them in the next merge. Add the counts up too.";
const char* const kTakenAsEqual =
    "The parts were put together as if each had equally many elements: weigh their means, and the "
    "squares of the distances between them, with the counts that there are.";

// What a whole row gives in several of these ways is told by the one that says least.
const std::pair<const char*, Merge> kMerges[] = {
    {kNothingBetween,
     [](const Part& a, const Part& b) {
       return Part{a.count + b.count, weighted_mean(a, b), a.squares + b.squares};
     }},
    {kHalfAndHalf,
     [](const Part& a, const Part& b) {
       return Part{a.count + b.count, (a.mean + b.mean) / 2.0,
                   a.squares + b.squares + between(a, b)};
     }},
    {kHalfAndHalf,
     [](const Part& a, const Part& b) {
       return Part{2.0 * a.count, (a.mean + b.mean) / 2.0,
                   a.squares + b.squares + squared_distance(a, b) * a.count / 2.0};
     }},
    {kHalfAndHalf,
     [](const Part& a, const Part& b) {
       return Part{a.count + b.count, (a.mean + b.mean) / 2.0,
                   a.squares + b.squares + squared_distance(a, b) / 2.0};
     }},
    {kHalfAndHalf,
     [](const Part& a, const Part& b) {
       return Part{a.count + b.count, (a.mean + b.mean) / 2.0, a.squares + b.squares};
     }},
    {kHalfAndHalf,
     [](const Part& a, const Part& b) {
       return Part{a.count + b.count, (a.mean + b.mean) / 2.0,
                   a.squares + b.squares + squared_distance(a, b) * (a.count + b.count) / 4.0};
     }},
    {kHalfAndHalf,
     [](const Part& a, const Part& b) {
       return Part{a.count + b.count, (a.mean + b.mean) / 2.0,
                   a.squares + b.squares + squared_distance(a, b) * a.count / 2.0};
     }},
    {kCountsKept,
     [](const Part& a, const Part& b) {
       return Part{a.count, weighted_mean(a, b), a.squares + b.squares + between(a, b)};
     }},
    {kOtherCounts,
     [](const Part& a, const Part& b) {
       return Part{a.count + b.count, weighted_mean(a, b),
                   a.squares + b.squares + squared_distance(a, b) * (a.count + b.count) / 4.0};
     }},
    {kOtherCounts,
     [](const Part& a, const Part& b) {
       return Part{a.count + b.count, weighted_mean(a, b),
                   a.squares + b.squares + squared_distance(a, b) / 2.0};
     }},
};

Part merged_rightly(const Part& a, const Part& b) {
  return {a.count + b.count, weighted_mean(a, b), a.squares + b.squares + between(a, b)};
}

/// Who is merged with whom.
struct Tree {
  bool neighbours_first = false;  // at distance 1, 2, 4, ...; else n / 2, n / 4, ... 1
  bool skips_empty = false;       // is a part without elements left out of the merges?
};

/// What the first of them has, of which there are a power of two, at the root.
Part merged(std::vector<Part> parts, Merge merge, Tree tree) {
  const auto add = [&](std::size_t to, std::size_t from) {
    if (tree.skips_empty && (parts[to].count == 0.0 || parts[from].count == 0.0)) {
      parts[to] = parts[to].count == 0.0 ? parts[from] : parts[to];
    } else {
      parts[to] = merge(parts[to], parts[from]);
    }
  };
  const std::size_t size = parts.size();
  for (std::size_t half = size / 2; half > 0; half /= 2) {
    const std::size_t distance = tree.neighbours_first ? size / (2 * half) : half;
    for (std::size_t i = 0; i < half; ++i) {
      const std::size_t to = tree.neighbours_first ? 2 * distance * i : i;
      add(to, to + distance);
    }
  }
  return parts.front();
}

/// How the warps' parts come together.
enum class Across { slots_of_a_warp, slots, one_by_one };

/// Of the threads of a block, within each warp, and then over the warps.
std::vector<Part> of_warps(const std::vector<Part>& parts, Merge merge, Tree tree) {
  std::vector<Part> warps;
  for (auto first = parts.begin(); first != parts.end(); first += kSlots) {
    warps.push_back(merged({first, first + kSlots}, merge, tree));
  }
  return warps;
}
Part over_warps(std::vector<Part> warps, Merge merge, Tree tree, Across across) {
  if (across == Across::one_by_one) {
    Part all = warps.front();
    for (std::size_t warp = 1; warp < warps.size(); ++warp) {
      all = merged({all, warps[warp]}, merge, tree);
    }
    return all;
  }
  if (across == Across::slots_of_a_warp) {  // of which those of no warp are empty
    warps.resize(kSlots);
  }
  return merged(std::move(warps), merge, tree);
}

/// The parts, each with as many elements as another.
Part taken_as_equal(std::vector<Part> parts) {
  double count = 0.0;
  for (const Part& part : parts) {
    count += part.count;
  }
  for (Part& part : parts) {
    part.count = count / static_cast<double>(parts.size());
  }
  return merged(std::move(parts), merged_rightly, {});
}

/// From what the threads of a block have of a row to what the block takes for all of it.
using Whole = std::function<Part(const std::vector<Part>& parts)>;

/// All ways in which the threads of a block may come to it with a merge that is wrong: in warps, or
/// all together, or only within the warps, or only over them.
std::vector<Whole> wholes(std::int64_t threads, Merge merge) {
  std::vector<Whole> all;
  for (const Tree tree : {Tree{}, Tree{false, true}, Tree{true, true}, Tree{true, false}}) {
    all.push_back([=](const std::vector<Part>& parts) { return merged(parts, merge, tree); });
    if (threads == static_cast<std::int64_t>(kSlots)) {
      continue;
    }
    for (const Across across : {Across::slots_of_a_warp, Across::slots, Across::one_by_one}) {
      // With empty slots left out the slots are the same as those of a warp. Halved once for each
      // empty one, a mean is 0, and that comes of much else.
      if (across == (tree.skips_empty ? Across::slots : Across::one_by_one)) {
        continue;
      }
      all.push_back([=](const std::vector<Part>& parts) {
        return over_warps(of_warps(parts, merge, tree), merge, tree, across);
      });
      if (!tree.neighbours_first) {
        all.push_back([=](const std::vector<Part>& parts) {
          return over_warps(of_warps(parts, merged_rightly, {}), merge, tree, across);
        });
      }
    }
    all.push_back([=](const std::vector<Part>& parts) {
      return over_warps(of_warps(parts, merge, tree), merged_rightly, {}, Across::one_by_one);
    });
  }
  return all;
}

/// What the threads of a block have of each row. Empty where their packs do not fit the row.
using Parts = std::vector<std::vector<Part>>;
Parts parts_of(verdict::Dtype dtype, const Field& x, std::int64_t threads, bool packs) {
  const auto thread = threads_of_columns(dtype, x.cols, threads, packs);
  if (thread.empty()) {
    return {};
  }
  Parts rows(static_cast<std::size_t>(x.rows),
             std::vector<Part>(static_cast<std::size_t>(threads)));
  for (std::int64_t row = 0; row < x.rows; ++row) {
    for (std::int64_t col = 0; col < x.cols; ++col) {
      Part& part = rows[static_cast<std::size_t>(row)][thread[static_cast<std::size_t>(col)]];
      part = merged_rightly(part, {1.0, x(row, col)});
    }
  }
  return rows;
}

/// The parts of the x that was asked for last: hundreds of ways to merge begin with the same ones.
class PartsOfLast {
 public:
  PartsOfLast(std::int64_t threads, bool packs) : threads_(threads), packs_(packs) {}

  const Parts& operator()(verdict::Dtype dtype, const Field& x) {
    if (dtype != dtype_ || x.cols != x_.cols || x.values != x_.values) {
      parts_ = parts_of(dtype, x, threads_, packs_);
      dtype_ = dtype;
      x_ = x;
    }
    return parts_;
  }

 private:
  std::int64_t threads_;
  bool packs_;
  verdict::Dtype dtype_ = verdict::Dtype::fp32;
  Field x_;
  Parts parts_;
};

// Of rows as long as their threads, at least: more elements are not gone through so often. The
// experiments come down to fewer where they can.
constexpr std::int64_t kMostElements = std::int64_t{1} << 15;

/// Of every row what `part` is of all of it.
RowSum merged_rows(const std::shared_ptr<PartsOfLast>& parts, std::int64_t threads,
                   const Whole& whole, double (*part)(const Part&, double cols)) {
  return [=](verdict::Dtype dtype, const Field& x) -> std::optional<Field> {
    if (x.rows * std::max(x.cols, threads) > kMostElements) {
      return std::nullopt;
    }
    const Parts& rows = (*parts)(dtype, x);
    return rows.empty() ? std::nullopt
                        : std::optional(verdict::field_of(x.rows, 1, [&](auto row, auto) {
                            return part(whole(rows[static_cast<std::size_t>(row)]),
                                        static_cast<double>(x.cols));
                          }));
  };
}

}  // namespace

Table<ForwardHooks> wrong_merges() {
  Mistake<ForwardHooks> mistake{"welford-counts", {}};
  for (std::int64_t threads : {32, 256, 1024, 512, 128, 64}) {
    for (bool packs : {false, true}) {
      const auto parts = std::make_shared<PartsOfLast>(threads, packs);
      const auto add = [&](const char* sentence, const Whole& whole) {
        mistake.ways.push_back(
            {sentence,
             {.sum = merged_rows(parts, threads, whole,
                                 [](const Part& all, double cols) { return all.mean * cols; }),
              .square = [](const Element& e) { return e.x; },
              .sum_of_squares = merged_rows(parts, threads, whole,
                                            [](const Part& all, double) { return all.squares; })}});
      };
      for (const auto& [sentence, merge] : kMerges) {
        for (const Whole& whole : wholes(threads, merge)) {
          add(sentence, whole);
        }
      }
      add(kTakenAsEqual, taken_as_equal);
      if (threads > static_cast<std::int64_t>(kSlots)) {
        add(kTakenAsEqual, [](const std::vector<Part>& all) {
          return taken_as_equal(of_warps(all, merged_rightly, {}));
        });
      }
    }
  }
  return {mistake};
}

}  // namespace onepass::common
