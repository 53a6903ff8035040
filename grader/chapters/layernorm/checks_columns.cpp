// Checks of column sums that exercises 2.3 and 2.4 share.
#include "chapters/layernorm/checks_columns.h"

#include <fmt/format.h>

#include "chapters/common/check.h"
#include "chapters/layernorm/mistakes.h"
#include "chapters/layernorm/shapes.h"
#include "verdict/compare.h"

namespace onepass::layernorm {

Gradients cancelling(Dtype dtype, std::int64_t rows, std::int64_t cols) {
  Gradients inputs = random_gradients(dtype, rows, cols);
  cancel_rows(inputs.dy, inputs.x);
  return gradients(inputs.dy, inputs.x, inputs.weight);
}

Gradients scattered(Dtype dtype, std::int64_t rows, std::int64_t cols) {
  Gradients inputs = random_gradients(dtype, rows, cols);
  // 16 pairs of rows, one row in each 32nd part: 1024 and -1024, with the same x, so that they
  // cancel in dweight too.
  const verdict::Random places = session().random().stream("places");
  const std::int64_t part = rows / 32;
  for (std::int64_t number = 0; number < 32; ++number) {
    const std::int64_t row =
        number * part + places.integer(static_cast<std::uint64_t>(number), 0, part - 1);
    for (std::int64_t col = 0; col < cols; ++col) {
      inputs.dy.set(row, col, number % 2 == 0 ? 1024.0 : -1024.0);
      inputs.x.set(row, col, static_cast<double>(col % 4));
    }
  }
  return gradients(inputs.dy, inputs.x, inputs.weight);
}

void check_repeats(const Case& call, int times, const std::vector<Expectation>& expectations) {
  const verdict::Answer first = expect<backward_mistakes>(call, expectations);
  const bool promised = first["returned"].get(0, 0) == 0.0;  // Summation::fixed_order
  for (int repeat = 1; repeat < times; ++repeat) {
    const verdict::Answer next = expect<backward_mistakes>(call, expectations);
    for (const Expectation& expectation : expectations) {
      const auto change =
          verdict::first_change(first[expectation.output], next[expectation.output]);
      if (promised && change) {
        verdict::Failure failure;
        failure.where =
            verdict::element_name(expectation.output, first[expectation.output], change->index);
        failure.expected = verdict::show(change->before);
        failure.got = verdict::show(change->after);
        failure.mistake = "order-varies";
        failure.message = fmt::format(
            "{} came out differently at call {} than at call 1, on the same inputs. The launcher "
            "returns Summation::fixed_order: add in a fixed order, or return any_order.",
            failure.where, repeat + 1);
        session().fail(call, failure);
      }
    }
  }
}

}  // namespace onepass::layernorm
