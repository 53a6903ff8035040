// Mistakes in y alone, which both exercises of chapter 4 can have.
#include "chapters/batchnorm/mistakes_y.h"

#include <cmath>

#include "chapters/batchnorm/wrong_outputs.h"

namespace onepass::batchnorm {

using verdict::Oracle;
using verdict::round_to;

namespace {

double centred_and_scaled(const Element& e) {
  return (e.x - e.mean) * e.rstd;
}

void append_channel_mistakes(std::vector<Oracle>& all) {
  all.push_back(wrong_channel(
      "position-ignored", "Every element was given what belongs to channel 0: find its channel.",
      [](const Inputs&, std::int64_t, std::int64_t) { return std::int64_t{0}; }));
  all.push_back(wrong_channel(
      "weight-by-row",
      "Each element was given what belongs to the channel of its sample's number: x is [batch, "
      "channels, space].",
      [](const Inputs& in, std::int64_t, std::int64_t j) { return j / (in.count() / in.batch); }));
  all.push_back(wrong_channel(
      "transposed-index",
      "The channel was taken for what is left over by channels, as if it were the last dimension: "
      "divide by space first.",
      [](const Inputs& in, std::int64_t c, std::int64_t j) {
        const std::int64_t space = in.count() / in.batch;
        const std::int64_t element = (j / space * in.channels() + c) * space + j % space;
        return element % in.channels();
      }));
  all.push_back(wrong_channel(
      "transposed-index",
      "The channel was taken for what is left over by space: that is the position within the "
      "channel.",
      [](const Inputs& in, std::int64_t, std::int64_t j) { return j % (in.count() / in.batch); }));
}

}  // namespace

void append_y_mistakes(std::vector<Oracle>& all) {
  append_channel_mistakes(all);
  all.push_back(wrong_element("weight-missing",
                              "y is what comes out without the weight: multiply by weight[c].",
                              [](const Element& e) { return centred_and_scaled(e) + e.bias; }));
  all.push_back(wrong_element("bias-missing", "y is what comes out without the bias: add bias[c].",
                              [](const Element& e) { return centred_and_scaled(e) * e.weight; }));
  all.push_back(wrong_element("weight-missing",
                              "y is what comes out without weight and bias: multiply by weight[c] "
                              "and add bias[c].",
                              centred_and_scaled));
  all.push_back(
      wrong_element("weight-bias-swapped", "Weight and bias have changed places.",
                    [](const Element& e) { return centred_and_scaled(e) * e.bias + e.weight; }));
  all.push_back(wrong_element(
      "weight-bias-swapped", "The bias was added before the weight multiplied: weight first.",
      [](const Element& e) { return (centred_and_scaled(e) + e.bias) * e.weight; }));
  all.push_back(wrong_element("mean-not-subtracted",
                              "y is what comes out if the mean is not subtracted.",
                              [](const Element& e) { return e.x * e.rstd * e.weight + e.bias; }));
  all.push_back(
      wrong_element("no-reciprocal", "x - mean was multiplied by sqrt(var + eps): divide by it.",
                    [](const Element& e) { return (e.x - e.mean) / e.rstd * e.weight + e.bias; }));
  all.push_back(wrong_element(
      "cast-order",
      "y is what comes out when the normalised value is rounded to the 16-bit type before it meets "
      "weight and bias: compute in float and round once, at the end.",
      [](const Element& e) {
        return round_to(e.dtype, centred_and_scaled(e)) * e.weight + e.bias;
      }));
  all.push_back(wrong_element("cast-order",
                              "y is what comes out when each step is rounded to the 16-bit type: "
                              "compute in float and round "
                              "once, at the end.",
                              [](const Element& e) {
                                const double scaled = round_to(
                                    e.dtype, round_to(e.dtype, centred_and_scaled(e)) * e.weight);
                                return round_to(e.dtype, scaled + e.bias);
                              }));
  all.push_back(wrong_element(
      "cast-order",
      "y is what comes out when mean and rstd are rounded to the 16-bit type before they are used: "
      "compute in float and round once, at the end.",
      [](const Element& e) {
        return (e.x - round_to(e.dtype, e.mean)) * round_to(e.dtype, e.rstd) * e.weight + e.bias;
      }));
}

}  // namespace onepass::batchnorm
