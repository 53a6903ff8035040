#include "chapters/common/row_sum.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <utility>

#include "chapters/common/rows.h"
#include "chapters/common/sixteen_bit_sums.h"
#include "chapters/common/thread_sums.h"
#include "verdict/contract/call.h"

namespace onepass::common {

using verdict::Dtype;

namespace {

/// Threads past the end of the row add its last (or first) element once more, instead of nothing.
RowSum with_surplus(std::int64_t threads, bool last) {
  return [=](Dtype, const Field& terms) -> std::optional<Field> {
    Field sums = row_sums(terms);
    for (std::int64_t row = 0; row < terms.rows; ++row) {
      sums(row, 0) += surplus(threads, terms.cols) * terms(row, last ? terms.cols - 1 : 0);
    }
    return sums;
  };
}

/// A loop over whole packs goes on while one is left; the columns one by one begin behind the last
/// step that all threads have.
RowSum with_tail_twice(std::int64_t step, std::int64_t pack) {
  return [=](Dtype, const Field& terms) -> std::optional<Field> {
    const std::int64_t begin = terms.cols / step * step, end = terms.cols / pack * pack;
    if (begin == end) {
      return std::nullopt;
    }
    Field sums = row_sums(terms);
    for (std::int64_t row = 0; row < terms.rows; ++row) {
      for (std::int64_t col = begin; col < end; ++col) {
        sums(row, 0) += terms(row, col);
      }
    }
    return sums;
  };
}

/// The same call on one column, which no loop over packs counts.
std::optional<verdict::Case> of_one_column(const verdict::Case& call) {
  if (call.contract() == nullptr) {
    return std::nullopt;
  }
  verdict::contract::Sizes sizes;
  for (const std::string& cols : call.contract()->col_sizes()) {
    sizes[cols] = 1;
  }
  return verdict::contract::resized(call, sizes, std::numeric_limits<std::int64_t>::max());
}

std::vector<double> shares_in(const Field& terms, std::int64_t row,
                              const std::vector<std::size_t>& thread, std::int64_t threads) {
  std::vector<double> shares(static_cast<std::size_t>(threads), 0.0);
  for (std::int64_t col = 0; col < terms.cols; ++col) {
    shares[thread[static_cast<std::size_t>(col)]] += terms(row, col);
  }
  return shares;
}

/// The thread of a block that has column 0, 1, ..., where each warp has `of_warp` neighbours. Empty
/// where packs do not fit the row.
std::vector<std::size_t> threads_of_neighbours(Dtype dtype, std::int64_t cols, std::int64_t of_warp,
                                               bool packs) {
  std::vector<std::size_t> thread = threads_of_columns(dtype, cols, 32, packs);
  for (std::size_t col = 0; col < thread.size(); ++col) {
    thread[col] += col / static_cast<std::size_t>(of_warp) * 32;
  }
  return thread;
}

/// What each column's thread takes for the total. of_warp: how many columns of a warp are
/// neighbours; 0: those of its threads in one turn.
RowSum held(const ThreadSums& sums, bool packs, std::int64_t of_warp = 0) {
  return [=](Dtype dtype, const Field& terms) -> std::optional<Field> {
    const auto thread = of_warp == 0 ? threads_of_columns(dtype, terms.cols, sums.threads, packs)
                                     : threads_of_neighbours(dtype, terms.cols, of_warp, packs);
    if (thread.empty() || static_cast<std::int64_t>(thread.back()) >= sums.threads) {
      return std::nullopt;
    }
    Field result(terms.rows, terms.cols);
    for (std::int64_t row = 0; row < terms.rows; ++row) {
      const std::vector<double> totals = sums.reduce(shares_in(terms, row, thread, sums.threads));
      for (std::int64_t col = 0; col < terms.cols; ++col) {
        result(row, col) = totals[thread[static_cast<std::size_t>(col)]];
      }
    }
    return result;
  };
}

/// The sum of the columns up to each.
std::optional<Field> sums_so_far(Dtype, const Field& terms) {
  Field sums = terms;
  for (std::int64_t row = 0; row < terms.rows; ++row) {
    for (std::int64_t col = 1; col < terms.cols; ++col) {
      sums(row, col) += sums(row, col - 1);
    }
  }
  return sums;
}

}  // namespace

std::vector<std::size_t> threads_of_columns(verdict::Dtype dtype, std::int64_t cols,
                                            std::int64_t threads, bool packs) {
  const auto pack = packs ? static_cast<std::int64_t>(16 / verdict::size_of(dtype)) : 1;
  std::vector<std::size_t> thread;
  for (std::int64_t col = 0; col < cols && cols % pack == 0; ++col) {
    thread.push_back(static_cast<std::size_t>(col / pack % threads));
  }
  return thread;
}

std::optional<Field> right_sum(Dtype, const Field& terms) {
  return row_sums(terms);
}

RowSum sum_of(const Counted& counted) {
  return [counted](Dtype, const Field& terms) -> std::optional<Field> {
    std::vector<std::int64_t> kept;
    for (std::int64_t col = 0; col < terms.cols; ++col) {
      if (counted(col, terms.cols)) {
        kept.push_back(col);
      }
    }
    if (kept.empty()) {
      return std::nullopt;  // 0 comes of much else
    }
    return verdict::field_of(terms.rows, 1, [&](auto row, auto) {
      double sum = 0.0;
      for (std::int64_t col : kept) {
        sum += terms(row, col);
      }
      return sum;
    });
  };
}

Table<RowSum> wrong_shares(const RowWords& words) {
  Mistake<RowSum> narrow{"wrong-when-narrow", {}};
  for (std::int64_t threads : {256, 1024, 512, 128, 64, 32}) {
    for (bool last : {true, false}) {
      narrow.ways.push_back({"Threads whose " + words.column + " is past the end of the " +
                                 words.row + " add something too: their share must be 0.",
                             with_surplus(threads, last)});
    }
  }
  Mistake<RowSum> twice{"tail-counted-twice", {}};
  for (std::int64_t threads : {256, 1024, 512, 128, 64, 32}) {
    for (std::int64_t pack : {4, 8, 2}) {
      twice.ways.push_back(
          {fmt::format("Some {0}s count twice: the loop that takes {1} at once goes on while {1} "
                       "are left, and those taken one by one begin already behind the last step "
                       "of the whole block. Let them begin where that loop has ended.",
                       words.column, pack),
           with_tail_twice(threads * pack, pack),
           {verdict::kSlack, of_one_column}});
    }
  }
  return joined<RowSum>({placed(lost_columns(words), sum_of), {narrow, twice}});
}

Table<RowSum> wrong_totals() {
  std::vector<Table<RowSum>> all = {
      placed(thread_sums(), [](const ThreadSums& sums) { return held(sums, false); }),
      placed(thread_sums(), [](const ThreadSums& sums) { return held(sums, true); }),
      {{"unfinished-sum",
        {{"Each element used the sum of the elements up to it: finish the sum first, then use it.",
          sums_so_far}}}}};
  for (const std::int64_t of_warp : {512, 1024}) {
    for (const bool packs : {true, false}) {
      all.push_back(placed(thread_sums({1024}),
                           [=](const ThreadSums& sums) { return held(sums, packs, of_warp); }));
    }
  }
  return joined<RowSum>(all);
}

RowSum shares_of(std::int64_t threads, bool warps, bool packs) {
  return [=](Dtype dtype, const Field& terms) -> std::optional<Field> {
    const auto thread = threads_of_columns(dtype, terms.cols, threads, packs);
    if (thread.empty()) {
      return std::nullopt;
    }
    const std::int64_t together = warps ? 32 : 1;
    Field shares(terms.rows, threads / together);
    for (std::int64_t row = 0; row < terms.rows; ++row) {
      const std::vector<double> all = shares_in(terms, row, thread, threads);
      for (std::int64_t t = 0; t < threads; ++t) {
        shares(row, t / together) += all[static_cast<std::size_t>(t)];
      }
    }
    return shares;
  };
}

namespace {

/// The plain mean of the shares' means, times the number of columns.
RowSum mean_of_means(const RowSum& shares) {
  return [=](Dtype dtype, const Field& terms) -> std::optional<Field> {
    const std::optional<Field> sums = shares(dtype, terms);
    const std::optional<Field> counts =
        shares(dtype, verdict::field_of(1, terms.cols, [](auto, auto) { return 1.0; }));
    if (!sums || !counts || counts->values.front() == counts->values.back()) {
      return std::nullopt;
    }
    return verdict::field_of(terms.rows, 1, [&](auto row, auto) {
      double means = 0.0, number = 0.0;
      for (std::int64_t part = 0; part < counts->cols; ++part) {
        const double count = (*counts)(0, part);
        means += count > 0.0 ? (*sums)(row, part) / count : 0.0;
        number += count > 0.0 ? 1.0 : 0.0;
      }
      return means / number * static_cast<double>(terms.cols);
    });
  };
}

}  // namespace

Table<RowSum> means_of_unequal_shares(const RowWords& words) {
  Mistake<RowSum> mistake{"welford-counts", {}};
  for (const std::int64_t threads : {256, 1024, 512, 128, 64, 32}) {
    for (const bool warps : {false, true}) {
      for (const bool packs : {false, true}) {
        mistake.ways.push_back(
            {fmt::format("Each {0} divided by the number of its own {1}s, and their means were "
                         "taken together as if each had equally many: where some have one more, "
                         "or none, add up the sums, and divide once.",
                         warps ? "warp" : "thread", words.column),
             mean_of_means(shares_of(threads, warps, packs))});
      }
    }
  }
  return {mistake};
}

std::vector<RowSum> sums_in_sixteen_bits() {
  std::vector<RowSum> all;
  for (std::int64_t threads : {256, 1024, 512, 128, 64, 32, 1}) {
    for (bool tree : {true, false}) {
      for (std::int64_t pack : {1, 8}) {
        all.push_back([=](Dtype dtype, const Field& terms) {
          return dtype == Dtype::fp32 || terms.cols % pack != 0
                     ? std::nullopt
                     : std::optional(sum_in(dtype, terms, {threads, tree, pack}));
        });
      }
    }
  }
  return all;
}

std::vector<WrongCount> wrong_counts() {
  std::vector<WrongCount> all = {{"the stride, which counts what lies between the rows too",
                                  [](double, double stride) { return stride; }}};
  for (const auto& [part, pack] :
       {std::pair("an eighth of the columns, as if by packs of 8", 8.0),
        std::pair("a quarter of the columns, as if by packs of 4", 4.0),
        std::pair("half of the columns (as if by packs of 2), or adding up each twice,", 2.0)}) {
    all.push_back(
        {part, [n = pack](double cols, double) { return cols < n ? cols : std::floor(cols / n); }});
  }
  const char* const padded = "a width that is rounded up, to whole packs, warps or blocks";
  for (double group : {1024.0, 512.0, 256.0, 128.0, 64.0, 32.0, 16.0, 8.0, 4.0}) {
    all.push_back(
        {padded, [group](double cols, double) { return std::ceil(cols / group) * group; }});
  }
  all.push_back(
      {padded, [](double cols, double) { return std::exp2(std::ceil(std::log2(cols))); }});
  all.push_back(
      {"one more than there are columns", [](double cols, double) { return cols + 1.0; }});
  return all;
}

double surplus(std::int64_t threads, std::int64_t cols) {
  return static_cast<double>((threads - cols % threads) % threads);
}

}  // namespace onepass::common
