// Exercises 1.2, 1.4 and 1.7: what y and rstd would be with one mistake.
#include "chapters/common/forward_mistakes.h"
#include "chapters/rmsnorm/calls.h"
#include "chapters/rmsnorm/mistakes.h"

namespace onepass::rmsnorm {

using common::Element;
using common::Forward;
using common::ForwardHooks;

namespace {

std::optional<Forward> centred(const Case&, Forward pass) {
  pass.centred = true;
  return pass;
}

}  // namespace

common::Table<ForwardHooks> forward_table(const std::vector<std::string>& strides) {
  const common::ForwardWords words = {.centred = false,
                                      .biased = false,
                                      .variance = "the mean of the squares",
                                      .v = "mean",
                                      .cols = "cols",
                                      .index = "col"};
  const char* const as_layernorm =
      "The result is what comes out when the row's mean is subtracted, as LayerNorm does: RMSNorm "
      "subtracts nothing.";
  return common::joined<ForwardHooks>(
      {common::index_mistakes(strides),
       common::scaling_mistakes(words),
       {{"mean-subtracted",
         {{as_layernorm, {.read = centred}},
          {as_layernorm,
           {.read = centred, .y = [](const Element& e) { return e.x * e.rstd * e.weight; }}}}}},
       common::statistics_mistakes(words)});
}

std::vector<verdict::Oracle> forward_mistakes() {
  return common::oracles<ForwardHooks>(forward_table({"cols", "y_stride"}),
                                       common::forward_reference);
}

}  // namespace onepass::rmsnorm
