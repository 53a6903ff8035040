// Exercises 2.2 to 2.4: what dx, dweight and dbias would be with one mistake that RMSNorm's cannot
// have, or of which LayerNorm has more to say.
#include "chapters/common/backward_mistakes.h"
#include "chapters/layernorm/calls.h"
#include "chapters/layernorm/mistakes.h"

namespace onepass::layernorm {

using common::Backward;

namespace {

const char* const kRoundedEarly =
    "A step on the way to dx was rounded to the 16-bit type: compute in float and round once, at "
    "the end.";

void round_x_hat(Backward& p) {
  p.x_hat = common::rounded(p.dtype, p.x_hat);
}

void round_wdy(Backward& p) {
  p.wdy = common::rounded(p.dtype, p.wdy);
}

Field centred(const Field& terms) {
  return normalized(terms, row_means(terms), Field(terms.rows, 1, 1.0));
}

void clear_mean_wdy(Backward& p) {
  p.mean_wdy = Field(p.x.rows, 1);
}

void sum_wdy(Backward& p) {
  p.mean_wdy = row_sums(p.wdy);
}

const common::Table<common::BackwardHooks> kOwnBackwardMistakes = {
    {"missing-reduction-term",
     {{"The mean of wdy is not subtracted: each x also moves the row's mean, and with it every y. "
       "As it is, a row of dx does not add up to 0.",
       {.means = clear_mean_wdy}},
      {"dx is rstd * wdy: neither mean is subtracted, or both came out as 0, as (1 / cols) does "
       "with integers.",
       {.means =
            [](Backward& p) {
              clear_mean_wdy(p);
              p.mean_wdy_hat = p.mean_wdy;
            }}}}},
    {"mean-taken-for-exact",
     {{"The mean of wdy * x_hat was taken of wdy less its mean. That is the same only where x_hat "
       "adds up to 0, and the mean that is given need not be that of x: use wdy as it is.",
       {.means =
            [](Backward& p) { p.mean_wdy_hat = row_means(product(centred(p.wdy), p.x_hat)); }}}}},
    {"sum-not-mean",
     {{"Both sums were used as they are: divide them by cols.",
       {.means =
            [](Backward& p) {
              sum_wdy(p);
              p.mean_wdy_hat = row_sums(product(p.wdy, p.x_hat));
            }}},
      {"The sum of wdy was used as it is: divide it by cols.", {.means = sum_wdy}}}},
    {"mean-not-subtracted",
     {{"x_hat is x * rstd here: subtract the saved mean first.",
       {.x_hat = [](Backward& p) { p.x_hat = product(p.x, p.rstd); }}},
      {"The mean of wdy * x_hat was summed with x * rstd: subtract the saved mean first.",
       {.means =
            [](Backward& p) {
              p.mean_wdy_hat = row_means(product(p.wdy, product(p.x, p.rstd)));
            }}}}},
    {"wrong-saved-statistics",
     {{"x_hat is x - mean here: multiply by the saved rstd.",
       {.x_hat =
            [](Backward& p) { p.x_hat = normalized(p.x, p.mean, Field(p.x.rows, 1, 1.0)); }}}}},
    {"cast-order",
     {{kRoundedEarly, {.when = common::in_sixteen_bits, .means = round_x_hat}},
      {kRoundedEarly, {.when = common::in_sixteen_bits, .means = round_wdy}},
      {kRoundedEarly,
       {.when = common::in_sixteen_bits,
        .wdy =
            [](Backward& p) {
              round_x_hat(p);
              round_wdy(p);
            }}},
      {"x_hat was rounded to the 16-bit type before it met dy: compute in float and round once, at "
       "the end.",
       {.when = common::in_sixteen_bits, .x_hat = round_x_hat}}}},
    {"weight-in-dbias",
     {{"The terms were multiplied by the weight: dbias is the sum of dy alone.",
       {.terms =
            [](const Backward& p, const std::string& output) {
              return output == "dbias" ? product(p.dy, p.weight) : product(p.dy, p.x_hat);
            }}}}},
    {"weight-bias-swapped",
     {{"The sums are those of the other of the two: dweight adds up dy * x_hat, dbias dy alone. "
       "Have they changed places?",
       {.terms =
            [](const Backward& p, const std::string& output) {
              return output == "dbias" ? product(p.dy, p.x_hat) : p.dy;
            }}}}},
};

}  // namespace

std::vector<verdict::Oracle> backward_mistakes() {
  return common::backward_mistakes(true, kOwnBackwardMistakes, common::backward_of);
}

}  // namespace onepass::layernorm
