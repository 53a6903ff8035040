// Exercise 2.1: what y, mean and rstd would be with one mistake.
#include "chapters/common/forward_mistakes.h"
#include "chapters/layernorm/calls.h"
#include "chapters/layernorm/mistakes.h"

namespace onepass::layernorm {

using common::ForwardHooks;

std::vector<verdict::Oracle> forward_mistakes() {
  const common::ForwardWords words = {.centred = true,
                                      .biased = true,
                                      .variance = "the variance",
                                      .v = "variance",
                                      .cols = "cols",
                                      .index = "col"};
  const common::Table<ForwardHooks> own = {
      {"mean-not-subtracted",
       {{"The mean is 0 here: add up the row and divide by cols.",
         {.mean = [](const common::Row&) { return 0.0; }}}}}};
  return common::oracles<ForwardHooks>(
      common::joined<ForwardHooks>({common::index_mistakes({"cols", "y_stride"}), own,
                                    common::scaling_mistakes(words), common::variance_about_0(),
                                    common::statistics_mistakes(words)}),
      common::forward_reference);
}

}  // namespace onepass::layernorm
