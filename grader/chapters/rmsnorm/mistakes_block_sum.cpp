// Exercise 1.1: what the sums would be with one mistake.
#include <optional>
#include <string>
#include <utility>

#include "chapters/common/lost_columns.h"
#include "chapters/common/misread.h"
#include "chapters/common/sixteen_bit_sums.h"
#include "chapters/rmsnorm/mistakes.h"
#include "chapters/rmsnorm/reference.h"

namespace onepass::rmsnorm {

using common::lost_columns;
using common::LostColumns;
using common::sixteen_bit_sums;
using common::SixteenBitSum;
using common::sum_in;
using verdict::Case;
using verdict::Dtype;
using verdict::Oracle;

namespace {

/// A mistake that only changes what is added up. `wrong_x` gives the numbers that are.
template <typename WrongX>
Oracle sum_of(std::string mistake, std::string sentence, WrongX wrong_x) {
  auto result = [wrong_x](const Case& call, const std::string&) -> std::optional<Field> {
    const std::optional<Field> x = wrong_x(call);
    return x ? std::optional<Field>(row_sums(*x)) : std::nullopt;
  };
  return {std::move(mistake), std::move(sentence), result};
}

/// Only some columns are added up.
Oracle sum_without(const LostColumns& lost) {
  return sum_of(lost.mistake, lost.sentence, [counted = lost.counted](const Case& call) {
    Field x = call.values("x").field();
    for (std::int64_t row = 0; row < x.rows; ++row) {
      for (std::int64_t col = 0; col < x.cols; ++col) {
        x(row, col) = counted(col, x.cols) ? x(row, col) : 0.0;
      }
    }
    return std::optional<Field>(x);
  });
}

/// Threads beyond the row's end add the row's last (or first) element once more instead of nothing.
Oracle sum_with_surplus(std::int64_t threads, bool last) {
  auto result = [=](const Case& call, const std::string&) -> std::optional<Field> {
    const Field x = call.values("x").field();
    const std::int64_t surplus = (threads - x.cols % threads) % threads;
    if (surplus == 0) {
      return std::nullopt;
    }
    Field sums = row_sums(x);
    for (std::int64_t row = 0; row < x.rows; ++row) {
      sums(row, 0) += static_cast<double>(surplus) * x(row, last ? x.cols - 1 : 0);
    }
    return sums;
  };
  return {"wrong-when-narrow",
          "Threads whose column is past the end of the row add something too: their share must be "
          "0.",
          result};
}

Oracle sum_in_sixteen_bits(SixteenBitSum how) {
  auto result = [how](const Case& call, const std::string&) -> std::optional<Field> {
    if (call.dtype() == Dtype::fp32) {
      return std::nullopt;
    }
    return sum_in(call.dtype(), call.values("x").field(), how);
  };
  return {"half-accumulation",
          "The sum is what adding up in the 16-bit type gives: it stops growing once the terms are "
          "smaller than its last digit. Convert each element to float and add in float.",
          result, verdict::kSixteenBitSlack};
}

/// The output was added to instead of written.
Oracle added_to_poison() {
  auto result = [](const Case& call, const std::string&) -> std::optional<Field> {
    const std::vector<std::byte> bytes(4, static_cast<std::byte>(verdict::Poison::finite));
    Field sums = row_sums(call.values("x").field());
    for (double& sum : sums.values) {
      sum += verdict::decode(Dtype::fp32, bytes.data());
    }
    return sums;
  };
  return {"accumulated-into-garbage",
          "The sum was added to what the output held before: write it, or set it to zero first.",
          result};
}

}  // namespace

std::vector<Oracle> block_sum_mistakes() {
  std::vector<Oracle> all;
  all.push_back(sum_of(
      "stride-ignored",
      "The rows were read as if they lay cols elements apart: they start x_stride "
      "elements apart.",
      [](const Case& call) { return common::with_stride(call, "x", call.integer("cols")); }));
  all.push_back(
      sum_of("transposed-index",
             "These are the sums of the columns: row and column are swapped in an index.",
             [](const Case& call) { return common::transposed(call.values("x").field()); }));
  for (const LostColumns& lost : lost_columns()) {
    all.push_back(sum_without(lost));
  }
  for (std::int64_t threads : {256, 1024, 512, 128, 64, 32}) {
    all.push_back(sum_with_surplus(threads, true));
    all.push_back(sum_with_surplus(threads, false));
  }
  all.push_back(added_to_poison());
  for (SixteenBitSum how : sixteen_bit_sums()) {
    all.push_back(sum_in_sixteen_bits(how));
  }
  return all;
}

}  // namespace onepass::rmsnorm
