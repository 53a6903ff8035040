// Where sums and squares of a forward pass lose their digits.
#include "chapters/common/forward_mistakes.h"

#include <algorithm>
#include <cmath>

#include "chapters/common/sixteen_bit_sums.h"

namespace onepass::common {

using verdict::Dtype;
using verdict::round_to;

namespace {

using Hooks = ForwardHooks;

const char* const kSquaresRounded =
    "The squares were rounded to the 16-bit type, and in fp16 whatever is above 255 squares to "
    "infinity: convert to float first, then square.";

double rounded_square(const Element& e) {
  return round_to(e.dtype, (e.x - e.mean) * (e.x - e.mean));
}

double rounded_twice(const Element& e) {
  const double distance = round_to(e.dtype, e.x - e.mean);
  return round_to(e.dtype, distance * distance);
}

std::vector<Way<Hooks>> half_accumulation(const ForwardWords& words) {
  std::vector<Way<Hooks>> ways;
  for (const RowSum& sum : sums_in_sixteen_bits()) {
    if (words.centred) {
      ways.push_back(
          {"The mean is what adding up in the 16-bit type gives: convert each element "
           "to float and add in float.",
           {.sum = sum},
           verdict::kSixteenBitSlack});
    }
    for (const auto& square : {std::function(rounded_square), Hooks{}.square}) {
      ways.push_back(
          {"The sum of the squares is what adding up in the 16-bit type gives: it stops "
           "growing once the terms are smaller than its last digit. Add in float.",
           {.square = square, .sum_of_squares = sum},
           verdict::kSixteenBitSlack});
    }
  }
  return ways;
}

// Of E[x^2] - E[x]^2: mean / deviation from which on what is left of the variance is rounding, up
// to which something of it is left, and how far apart, in bounds, two orders of addition may be.
constexpr double kCancels = 30.0;
constexpr double kNothingLeft = 300.0;
constexpr double kCancellationSlack = 200.0;

/// Does what there is of each row's variance cancel, but not all of it?
bool cancels(const Field& x) {
  const Statistics right = *statistics({.x = x});
  return std::equal(right.mean.values.begin(), right.mean.values.end(),
                    right.variance.values.begin(), [](double mean, double variance) {
                      const double ratio = std::abs(mean) / std::sqrt(variance);
                      return ratio >= kCancels && ratio <= kNothingLeft;
                    });
}

}  // namespace

/// In fp64 the formula is right: it is the rounding that goes wrong. What is left is noise that
/// another order of additions does not repeat, but it is no larger than that of another order.
Table<Hooks> one_pass_variance() {
  std::vector<Way<Hooks>> ways;
  for (std::int64_t threads : {256, 1024, 512, 32, 1}) {
    const RowSum in_fp32 = [threads](Dtype, const Field& terms) {
      return std::optional(sum_in(Dtype::fp32, terms, {threads, true}));
    };
    const RowSum where_it_cancels = [in_fp32](Dtype dtype, const Field& x) {
      return cancels(x) ? in_fp32(dtype, x) : std::nullopt;
    };
    ways.push_back(
        {"The variance lost its digits, as E[x^2] - E[x]^2 does where the mean is large: subtract "
         "two nearly equal numbers, and only their rounding errors remain. Find the mean first and "
         "then add up (x - mean)^2, or use Welford's method.",
         {.sum = where_it_cancels,
          .square = [](const Element& e) { return round_to(Dtype::fp32, e.x * e.x); },
          .sum_of_squares = in_fp32,
          .variance =
              [](const Row& r) {
                const auto mean = static_cast<float>(r.mean);
                const auto mean_of_squares = static_cast<float>(r.squares / r.cols);
                return static_cast<double>(mean_of_squares - mean * mean);
              }},
         kCancellationSlack});
  }
  return {{"one-pass-variance", ways}};
}

Table<Hooks> sixteen_bit_squares(const ForwardWords& words) {
  return {{"half-square-overflow",
           {{kSquaresRounded, {.square = rounded_square}},
            {kSquaresRounded, {.square = rounded_twice}}}},
          {"half-accumulation", half_accumulation(words)}};
}

}  // namespace onepass::common
