#include "chapters/common/row_sum.h"

#include "chapters/common/rows.h"
#include "chapters/common/sixteen_bit_sums.h"
#include "chapters/common/thread_sums.h"

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

/// What each column's thread takes for the total.
RowSum held(const ThreadSums& sums, bool packs) {
  return [=](Dtype dtype, const Field& terms) -> std::optional<Field> {
    const auto pack = packs ? static_cast<std::int64_t>(16 / verdict::size_of(dtype)) : 1;
    if (terms.cols % pack != 0) {
      return std::nullopt;
    }
    std::vector<std::size_t> thread;  // of each column
    for (std::int64_t col = 0; col < terms.cols; ++col) {
      thread.push_back(static_cast<std::size_t>(col / pack % sums.threads));
    }
    Field result(terms.rows, terms.cols);
    for (std::int64_t row = 0; row < terms.rows; ++row) {
      std::vector<double> shares(static_cast<std::size_t>(sums.threads), 0.0);
      for (std::int64_t col = 0; col < terms.cols; ++col) {
        shares[thread[static_cast<std::size_t>(col)]] += terms(row, col);
      }
      const std::vector<double> totals = sums.reduce(shares);
      for (std::int64_t col = 0; col < terms.cols; ++col) {
        result(row, col) = totals[thread[static_cast<std::size_t>(col)]];
      }
    }
    return result;
  };
}

}  // namespace

std::optional<Field> right_sum(Dtype, const Field& terms) {
  return row_sums(terms);
}

RowSum sum_of(const Counted& counted) {
  return [counted](Dtype, const Field& terms) {
    std::vector<std::int64_t> kept;
    for (std::int64_t col = 0; col < terms.cols; ++col) {
      if (counted(col, terms.cols)) {
        kept.push_back(col);
      }
    }
    return std::optional(verdict::field_of(terms.rows, 1, [&](auto row, auto) {
      double sum = 0.0;
      for (std::int64_t col : kept) {
        sum += terms(row, col);
      }
      return sum;
    }));
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
  return joined<RowSum>({placed(lost_columns(words), sum_of), {narrow}});
}

Table<RowSum> wrong_totals() {
  return joined<RowSum>(
      {placed(thread_sums(), [](const ThreadSums& sums) { return held(sums, false); }),
       placed(thread_sums(), [](const ThreadSums& sums) { return held(sums, true); })});
}

std::vector<RowSum> sums_in_sixteen_bits() {
  std::vector<RowSum> all;
  for (std::int64_t threads : {256, 1024, 512, 128, 64, 32, 1}) {
    for (bool tree : {true, false}) {
      all.push_back([=](Dtype dtype, const Field& terms) {
        return dtype == Dtype::fp32 ? std::nullopt
                                    : std::optional(sum_in(dtype, terms, {threads, tree}));
      });
    }
  }
  return all;
}

double surplus(std::int64_t threads, std::int64_t cols) {
  return static_cast<double>((threads - cols % threads) % threads);
}

}  // namespace onepass::common
