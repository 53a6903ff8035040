#include "chapters/common/welford.h"

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
    "Two means were merged half and half, however many elements each is of: weigh them with their "
    "counts, as threads at the end of the row have fewer elements, or none.";
const char* const kNothingBetween =
    "The sums of squares were added up as they are: the distance of the two means belongs to them, "
    "as delta * delta * n_a * n_b / (n_a + n_b).";
const char* const kAsIfEqual =
    "The squares were merged as if both parts had equally many elements: it is delta * delta * n_a "
    "* n_b / (n_a + n_b), with the counts that there are.";

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
    {kCountsKept,
     [](const Part& a, const Part& b) {
       return Part{a.count, weighted_mean(a, b), a.squares + b.squares + between(a, b)};
     }},
    {kAsIfEqual,
     [](const Part& a, const Part& b) {
       return Part{a.count + b.count, weighted_mean(a, b),
                   a.squares + b.squares + squared_distance(a, b) * (a.count + b.count) / 4.0};
     }},
    {kAsIfEqual,
     [](const Part& a, const Part& b) {
       return Part{a.count + b.count, weighted_mean(a, b),
                   a.squares + b.squares + squared_distance(a, b) / 2.0};
     }},
};

/// What each thread has of a row. thread: that of each column.
std::vector<Part> parts_of(const Field& x, std::int64_t row, std::int64_t threads,
                           const std::vector<std::size_t>& thread) {
  std::vector<Part> parts(static_cast<std::size_t>(threads));
  for (std::int64_t col = 0; col < x.cols; ++col) {
    Part& part = parts[thread[static_cast<std::size_t>(col)]];
    part = {part.count + 1.0, weighted_mean(part, {1.0, x(row, col)}),
            part.squares + between(part, {1.0, x(row, col)})};
  }
  return parts;
}

/// What the first of them has when half of the others is merged into the other half, again and
/// again. Their number is a power of two.
Part halved(const std::vector<Part>& all, Merge merge) {
  std::vector<Part> parts = all;
  for (std::size_t half = parts.size() / 2; half > 0; half /= 2) {
    for (std::size_t i = 0; i < half; ++i) {
      parts[i] = merge(parts[i], parts[i + half]);
    }
  }
  return parts.front();
}

/// Within each warp, then over 32 slots, of which those of no warp are empty.
Part by_warps(const std::vector<Part>& parts, Merge merge) {
  std::vector<Part> slots(kSlots);
  for (std::size_t warp = 0; warp < parts.size() / kSlots; ++warp) {
    const auto first = parts.begin() + static_cast<std::ptrdiff_t>(warp * kSlots);
    slots[warp] = halved({first, first + kSlots}, merge);
  }
  return halved(slots, merge);
}

Part merged_rightly(const Part& a, const Part& b) {
  return {a.count + b.count, weighted_mean(a, b), a.squares + b.squares + between(a, b)};
}

/// The parts of the threads, or of their warps, each with as many elements as another. Their number
/// is a power of two.
Part taken_as_equal(std::vector<Part> parts, Merge merge) {
  double count = 0.0;
  for (const Part& part : parts) {
    count += part.count;
  }
  for (Part& part : parts) {
    part.count = count / static_cast<double>(parts.size());
  }
  return halved(parts, merge);
}
Part taken_as_equal_by_warps(const std::vector<Part>& parts, Merge merge) {
  std::vector<Part> warps;
  for (auto first = parts.begin(); first != parts.end(); first += kSlots) {
    warps.push_back(halved({first, first + kSlots}, merged_rightly));
  }
  return taken_as_equal(std::move(warps), merge);
}
Part taken_as_equal_by_threads(const std::vector<Part>& parts, Merge merge) {
  return taken_as_equal(parts, merge);
}

using Whole = Part (*)(const std::vector<Part>& parts, Merge merge);

/// Of every row what `part` is of all of it.
RowSum merged(std::int64_t threads, bool packs, Merge merge, Whole whole,
              double (*part)(const Part&, double cols)) {
  return [=](verdict::Dtype dtype, const Field& x) -> std::optional<Field> {
    const auto thread = threads_of_columns(dtype, x.cols, threads, packs);
    if (thread.empty()) {
      return std::nullopt;
    }
    return verdict::field_of(x.rows, 1, [&](auto row, auto) {
      return part(whole(parts_of(x, row, threads, thread), merge), static_cast<double>(x.cols));
    });
  };
}

}  // namespace

Table<ForwardHooks> wrong_merges() {
  Mistake<ForwardHooks> mistake{"welford-counts", {}};
  const auto add_way = [&](const char* sentence, std::int64_t threads, Whole whole, Merge merge) {
    for (bool packs : {false, true}) {
      mistake.ways.push_back(
          {sentence,
           {.sum = merged(threads, packs, merge, whole,
                          [](const Part& all, double cols) { return all.mean * cols; }),
            .square = [](const Element& e) { return e.x; },
            .sum_of_squares = merged(threads, packs, merge, whole,
                                     [](const Part& all, double) { return all.squares; })}});
    }
  };
  const auto add = [&](std::int64_t threads, Whole whole) {
    for (const auto& [sentence, merge] : kMerges) {
      add_way(sentence, threads, whole, merge);
    }
    add_way(kTakenAsEqual, threads, taken_as_equal_by_threads, merged_rightly);
    if (threads > 32) {
      add_way(kTakenAsEqual, threads, taken_as_equal_by_warps, merged_rightly);
    }
  };
  add(32, halved);
  for (std::int64_t threads : {256, 1024, 512, 128, 64}) {
    add(threads, halved);
    add(threads, by_warps);
  }
  return {mistake};
}

}  // namespace onepass::common
