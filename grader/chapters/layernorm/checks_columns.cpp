// A check of column sums that exercises 2.3 and 2.4 share.
#include "chapters/layernorm/checks_columns.h"

#include <fmt/format.h>

#include <memory>
#include <set>
#include <string>

#include "chapters/common/asked.h"
#include "chapters/common/check.h"
#include "chapters/layernorm/mistakes.h"
#include "verdict/compare.h"

namespace onepass::layernorm {

namespace {

bool promises_fixed_order(const verdict::Answer& answer) {
  return answer["returned"].get(0, 0) == 0.0;  // Summation::fixed_order
}

}  // namespace

void check_repeats(const Case& call, int times, const Outputs& outputs) {
  const verdict::Answer first = expect<backward_mistakes>(call, outputs);
  const bool promised = promises_fixed_order(first);
  for (int repeat = 1; repeat < times; ++repeat) {
    const verdict::Answer next = expect<backward_mistakes>(call, outputs);
    for (const Expectation& expectation : verdict::expectations(outputs, call)) {
      const auto change =
          verdict::first_change(first[expectation.output], next[expectation.output]);
      if (promised && change) {
        verdict::Failure failure{.mistake = "order-varies",
                                 .where = verdict::element_name(
                                     expectation.output, first[expectation.output], change->index),
                                 .expected = verdict::show(change->before, change->after),
                                 .got = verdict::show(change->after, change->before)};
        failure.message = fmt::format(
            "{} came out differently at call {} than at call 1, on the same inputs{}. The launcher "
            "returns Summation::fixed_order: add in a fixed order, or return any_order.",
            failure.where, repeat + 1,
            session().device() == "cpu" ? ", with blocks and warps in another order" : "");
        session().fail(call, failure);
      }
    }
  }
}

common::CheckCall with_repeats(const common::Function& function, const Outputs& outputs) {
  constexpr std::int64_t kRows = 19;  // several of each block, or of each of its warps
  constexpr std::int64_t kMostCols = 2048;
  const auto promised = std::make_shared<std::set<std::set<std::string>>>();
  return [=, &function](const Case& call) {
    const verdict::Answer answer = expect<backward_mistakes>(call, outputs);
    const std::int64_t cols = call.integer("cols");
    // In 16 bits the last digits do not show.
    if (session().device() != "cpu" || call.dtype() != Dtype::fp32 || cols > kMostCols ||
        !promises_fixed_order(answer) ||
        !promised->insert(common::kernels_of(session().launches_of(call))).second) {
      return;
    }
    check_repeats(verdict::contract::call(function, Dtype::fp32,
                                          {.sizes = {{"rows", kRows}, {"cols", cols}},
                                           .seed = session().random().bits(12)}),
                  3, outputs);
  };
}

void check_repeats_of_many(const common::Function& function, const Outputs& outputs) {
  constexpr std::int64_t kCols = 8;
  common::for_kernels_of_many(
      function, "rows", {{"cols", kCols}}, [&](Dtype dtype, std::int64_t rows) {
        if (dtype == Dtype::fp32) {  // in 16 bits the last digits do not show
          check_repeats(backward_call(function, random_gradients(dtype, rows, kCols)), 3, outputs);
        }
      });
}

}  // namespace onepass::layernorm
