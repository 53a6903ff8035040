// Exercise 1.1: what the sums would be with one mistake.
#include <functional>
#include <optional>

#include "chapters/common/misread.h"
#include "chapters/common/row_walks.h"
#include "chapters/rmsnorm/calls.h"
#include "chapters/rmsnorm/mistakes.h"

namespace onepass::rmsnorm {

using common::RowSum;

namespace {

struct SumHooks {
  std::function<std::optional<Field>(const Case& call)> x = [](const Case& call) {
    return call.values("x").field();
  };
  RowSum sum = common::right_sum;
  double held = 0.0;  // by the output before, if the sum is added to it
};

std::optional<Field> block_sum(const Case& call, const std::string&, const SumHooks& hooks) {
  const std::optional<Field> x = hooks.x(call);
  const std::optional<Field> sums = x ? hooks.sum(call.dtype(), *x) : std::nullopt;
  if (!sums) {
    return std::nullopt;
  }
  return common::map(*sums, [&](double sum) { return hooks.held + sum; });
}

std::vector<common::Way<SumHooks>> half_accumulation() {
  std::vector<common::Way<SumHooks>> ways;
  for (const RowSum& sum : common::sums_in_sixteen_bits()) {
    ways.push_back(
        {"The sum is what additions in the 16-bit type give, all of them or some: each is rounded "
         "to its few digits. Convert each element to float before anything is added.",
         {.sum = sum},
         verdict::kSixteenBitNoise});
  }
  return ways;
}

}  // namespace

std::vector<verdict::Oracle> block_sum_mistakes() {
  const common::Table<SumHooks> reading = {
      {"stride-ignored",
       {{"The rows were read as if they lay cols elements apart: they start x_stride elements "
         "apart.",
         {.x =
              [](const Case& call) {
                return common::with_stride(call, "x", call.integer("cols"));
              }}}}},
      {"transposed-index",
       {{"These are the sums of the columns: row and column are swapped in an index.",
         {.x = [](const Case& call) { return common::transposed(call.values("x").field()); }}}}}};
  const common::Table<SumHooks> writing = {
      {"accumulated-into-garbage",
       {{"The sum was added to what the output held before: write it, or set it to zero first.",
         {.held = common::poison(Dtype::fp32)}}}},
      {"half-accumulation", half_accumulation()}};
  const auto in_sum = [](const RowSum& sum) { return SumHooks{.sum = sum}; };
  return common::oracles<SumHooks>(
      common::joined<SumHooks>({reading, placed(common::wrong_shares(), in_sum),
                                placed(common::carried_sums(), in_sum), writing}),
      block_sum);
}

}  // namespace onepass::rmsnorm
