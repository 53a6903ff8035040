// Exercise 1.3: what dx and dweight would be with one mistake that LayerNorm's cannot have, or of
// which RMSNorm has more to say.
#include "chapters/common/backward_mistakes.h"
#include "chapters/rmsnorm/calls.h"
#include "chapters/rmsnorm/mistakes.h"

namespace onepass::rmsnorm {

namespace {

const common::Table<common::BackwardHooks> kOwnMistakes = {
    {"x-hat-missing",
     {{"The mean is subtracted as it is: multiply it by x_hat first.",
       {.means = [](Backward& p) { p.x_hat = Field(p.x.rows, p.x.cols, 1.0); }}},
      {"The mean is that of wdy: it is of wdy * x_hat.",
       {.means = [](Backward& p) { p.mean_wdy_hat = row_means(p.wdy); }}},
      {"dweight is the sum of dy alone: multiply each dy by its x_hat.",
       {.terms = [](const Backward& p, const std::string&) { return p.dy; }}}}},
    {"mean-subtracted",
     {{"The mean of wdy is subtracted too, as in LayerNorm: RMSNorm has no mean.",
       {.means = [](Backward& p) { p.mean_wdy = row_means(p.wdy); }}}}},
    {"wrong-saved-statistics",
     {{"The mean is that of wdy * x: it is of wdy * x_hat, and x_hat is x * rstd.",
       {.means = [](Backward& p) { p.mean_wdy_hat = row_means(product(p.wdy, p.x)); }}}}},
    {"cast-order",
     {{"x_hat was rounded to the 16-bit type: in dx it stays fp32, in any order.",
       {.when = common::in_sixteen_bits,
        .wdy = [](Backward& p) { p.x_hat = common::rounded(p.dtype, p.x_hat); }}},
      {"x_hat was rounded to the 16-bit type before wdy * x_hat was added up: in dx it stays fp32, "
       "in any order.",
       {.when = common::in_sixteen_bits,
        .means =
            [](Backward& p) {
              const Field rounded = common::rounded(p.dtype, p.x_hat);
              p.mean_wdy_hat = row_means(product(p.wdy, rounded));
            }}},
      {"wdy was rounded to the 16-bit type: multiply as floats.",
       {.when = common::in_sixteen_bits,
        .wdy = [](Backward& p) { p.wdy = common::rounded(p.dtype, p.wdy); }}},
      {"x_hat was rounded to the 16-bit type: where the weight is applied in fp32, the forward "
       "pass did not round it either.",
       {.when = [](const Case& call) { return order_of(call) == CastOrder::weight_in_fp32; },
        .x_hat = [](Backward& p) { p.rounded_x_hat = true; }}},
      {"x_hat was not rounded: in LLaMA's order the forward pass rounded it to the 16-bit type "
       "before it met the weight, so dweight takes the rounded value.",
       {.when = [](const Case& call) { return order_of(call) == CastOrder::llama; },
        .x_hat = [](Backward& p) { p.rounded_x_hat = false; }}},
      {"rstd was rounded to the 16-bit type before it met x: in LLaMA's order x_hat is x * rstd as "
       "floats, and rounded once.",
       {.when = [](const Case& call) { return order_of(call) == CastOrder::llama; },
        .terms =
            [](const Backward& p, const std::string&) {
              const Field rstd = common::rounded(p.dtype, p.rstd);
              const Field mean(rstd.rows, 1);
              return product(p.dy, common::rounded(p.dtype, normalized(p.x, mean, rstd)));
            }}}}},
};

}  // namespace

std::vector<verdict::Oracle> backward_mistakes() {
  return common::backward_mistakes(false, kOwnMistakes, backward_of);
}

}  // namespace onepass::rmsnorm
