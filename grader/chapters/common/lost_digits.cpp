// Where sums and squares of a forward pass lose their digits.
#include "chapters/common/forward_mistakes.h"

#include <cmath>
#include <utility>

#include "chapters/common/sixteen_bit_sums.h"

namespace onepass::common {

using verdict::Case;
using verdict::Dtype;
using verdict::Matrix;
using verdict::round_to;

namespace {

using Hooks = ForwardHooks;

const char* const kSquaresRounded =
    "The squares were rounded to the 16-bit type, and in fp16 whatever is above 255 squares to "
    "infinity: convert to float first, then square.";

const char* const kDistancesRounded =
    "The squares are those of distances from the mean that lost their digits: the mean, or the "
    "distances, were rounded to the 16-bit type. Keep both in float, and subtract in float.";

/// Subtracted in the type of x, from a mean that is rounded to it.
double rounded_distance(const Element& e) {
  return round_to(e.dtype, e.x - round_to(e.dtype, e.mean));
}

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
           verdict::kSixteenBitNoise});
    }
    for (const auto& square : {std::function(rounded_square), Hooks{}.square}) {
      ways.push_back(
          {"The sum of the squares is what adding up in the 16-bit type gives: it stops "
           "growing once the terms are smaller than its last digit. Add in float.",
           {.square = square, .sum_of_squares = sum},
           verdict::kSixteenBitNoise});
    }
  }
  return ways;
}

// ---- Both sums in one pass ----

/// What is subtracted from the elements of a row before they are summed; empty: nothing is.
using Shift = std::function<double(const Field& x, std::int64_t row)>;
double first_of_row(const Field& x, std::int64_t row) {
  return x(row, 0);
}
double first_of_all(const Field& x, std::int64_t) {
  return x(0, 0);
}

Field shifted(const Field& x, const Shift& shift) {
  return verdict::field_of(x.rows, x.cols, [&](auto row, auto col) {
    return x(row, col) - (shift ? shift(x, row) : 0.0);
  });
}

// Of E[(x - s)^2] - E[x - s]^2: (mean - s) / deviation from which on what is left of the variance
// is rounding, up to which something of it is left. A shift is off by that only where its element
// is unlike the others.
constexpr double kCancels = 30.0;
constexpr double kShiftCancels = 5.0;
constexpr double kNothingLeft = 300.0;

/// Does what there is of the variance cancel, but not all of it? Each row's; where there is a
/// shift, that of some rows.
bool cancels(const Field& x, const Shift& shift) {
  const Statistics right = *statistics({.x = shifted(x, shift)});
  bool all = true;
  bool any = false;
  for (std::int64_t row = 0; row < x.rows; ++row) {
    const double ratio = std::abs(right.mean(row, 0)) / std::sqrt(right.variance(row, 0));
    if (ratio > kNothingLeft) {
      return false;
    }
    all = all && ratio >= kCancels;
    any = any || ratio >= kShiftCancels;
  }
  return shift ? any : all;
}

/// The sum of the squares, as far as rounding leaves it, of x as it is.
RowSum squares_in_one_pass(const Shift& shift, SixteenBitSum how) {
  return [=](Dtype, const Field& x) -> std::optional<Field> {
    if (!cancels(x, shift)) {
      return std::nullopt;
    }
    const Field terms = rounded(Dtype::fp32, shifted(x, shift));
    const Field sums = sum_in(Dtype::fp32, terms, how);
    const Field squares = sum_in(Dtype::fp32, rounded(Dtype::fp32, product(terms, terms)), how);
    return verdict::field_of(x.rows, 1, [&](auto row, auto) {
      const auto cols = static_cast<float>(x.cols);
      const float mean = static_cast<float>(sums(row, 0)) / cols;
      const float variance = static_cast<float>(squares(row, 0)) / cols - mean * mean;
      return static_cast<double>(variance) * static_cast<double>(x.cols);
    });
  };
}

/// Rows, or channels, whose elements lie in as many rows as there are samples.
std::int64_t groups_of(const Case& call) {
  return call.has_scalar("channels") ? call.integer("channels") : call.buffer("x").rows;
}

/// Of each row or channel, by the number of it.
std::vector<double> means_of(const Matrix& x, std::int64_t groups) {
  std::vector<double> means(static_cast<std::size_t>(groups), 0.0);
  const auto count = static_cast<double>(x.rows() / groups * x.cols());
  for (std::int64_t row = 0; row < x.rows(); ++row) {
    for (std::int64_t col = 0; col < x.cols(); ++col) {
      means[static_cast<std::size_t>(row % groups)] += x.get(row, col) / count;
    }
  }
  return means;
}

/// The call with value(row, col, x, mean) for each element of x.
template <typename Value>
Case with_x(const Case& call, Value value) {
  std::vector<verdict::Buffer> buffers = call.buffers();
  for (verdict::Buffer& buffer : buffers) {
    if (buffer.name == "x") {
      const Matrix x = call.values("x");
      const std::int64_t groups = groups_of(call);
      const std::vector<double> means = means_of(x, groups);
      buffer.hash.reset();
      buffer.values = verdict::matrix_of(x.dtype(), x.rows(), x.cols(), [&](auto row, auto col) {
        return value(row, col, x.get(row, col), means[static_cast<std::size_t>(row % groups)]);
      });
    }
  }
  return call.with(std::move(buffers));
}

std::optional<Case> about_0(const Case& call) {
  return with_x(call, [](auto, auto, double x, double mean) { return x - mean; });
}

/// Where no first element is far from the others.
std::optional<Case> with_usual_first(const Case& call) {
  const std::int64_t groups = groups_of(call);
  return with_x(call, [=](auto row, auto col, double x, double mean) {
    return row < groups && col == 0 ? mean : x;
  });
}

/// The same of each last one.
std::optional<Case> with_usual_last(const Case& call) {
  const verdict::Buffer& all = call.buffer("x");
  const std::int64_t rows = all.rows, cols = all.cols, groups = groups_of(call);
  return with_x(call, [=](auto row, auto col, double x, double mean) {
    return row >= rows - groups && col == cols - 1 ? mean : x;
  });
}

double itself(const Element& e) {
  return e.x;
}

/// The sum of the squares of the distances from the mean, less what the sums of x - s and x have in
/// common if only one of the two walks subtracts s.
RowSum squares_of_one_shift(const Shift& shift, bool in_squares) {
  return [=](Dtype, const Field& x) -> std::optional<Field> {
    const Field means = row_means(x);
    const Field mean_squares = row_means(product(x, x));
    return verdict::field_of(x.rows, 1, [&](auto row, auto) {
      const double mean = means(row, 0);
      const double s = shift(x, row);
      const double squares = mean_squares(row, 0) + (in_squares ? s * s - 2.0 * s * mean : 0.0);
      const double left = in_squares ? mean : mean - s;
      return (squares - left * left) * static_cast<double>(x.cols);
    });
  };
}

/// The variance that threads find so, each with its share of the row.
Hooks in_one_pass(const Shift& shift, std::int64_t threads) {
  return {.square = itself, .sum_of_squares = squares_in_one_pass(shift, {threads, true})};
}

}  // namespace

Hooks in_one_pass_about(const Field& shift, std::int64_t threads) {
  return in_one_pass([shift](const Field&, std::int64_t row) { return shift(row, 0); }, threads);
}

/// In fp64 the formula is right: it is the rounding that goes wrong. What is left is noise that
/// another order of additions does not repeat, but it is no larger than that of another order.
Table<Hooks> one_pass_variance() {
  struct Kind {
    Shift shift;
    const char* sentence;
    verdict::Noise noise;
  };
  const Kind kinds[] = {
      {{},
       "The variance lost its digits, as E[x^2] - E[x]^2 does where the mean is large: subtract "
       "two nearly equal numbers, and only their rounding errors remain. Find the mean first and "
       "then add up (x - mean)^2, or use Welford's method.",
       {kCancellationSlack, about_0, nullptr, true}},
      {first_of_row,
       "The variance lost its digits, as E[(x - s)^2] - E[x - s]^2 does where s is far from the "
       "mean, here with the row's first element for s: with one that is like the others the same "
       "call is right. Find the mean first and then add up (x - mean)^2, or use Welford's method.",
       {kCancellationSlack, with_usual_first, with_usual_last, true}},
      {first_of_all,
       "The variance lost its digits, as E[(x - s)^2] - E[x - s]^2 does where s is far from the "
       "mean, here with x[0] for s: with one that is like the others the same call is right. Find "
       "the mean first and then add up (x - mean)^2, or use Welford's method.",
       {kCancellationSlack, with_usual_first, with_usual_last, true}}};
  std::vector<Way<Hooks>> ways;
  for (const Kind& kind : kinds) {
    for (const std::int64_t threads : kThreadsOfOnePass) {
      ways.push_back({kind.sentence, in_one_pass(kind.shift, threads), kind.noise});
    }
  }
  for (const Shift& shift : {Shift(first_of_row), Shift(first_of_all)}) {
    for (bool in_squares : {true, false}) {
      ways.push_back(
          {in_squares ? "The squares are those of x - s, with the first element for s, "
                        "but the mean that is taken from them is that of x: subtract s "
                        "in both sums, or in none."
                      : "The squares are those of x, but the mean that is taken from "
                        "them is that of x - s, with the first element for s: subtract "
                        "s in both sums, or in none.",
           {.square = itself, .sum_of_squares = squares_of_one_shift(shift, in_squares)}});
    }
  }
  return {{"one-pass-variance", ways}};
}

Table<Hooks> sixteen_bit_squares(const ForwardWords& words) {
  Table<Hooks> all = {{"half-square-overflow",
                       {{kSquaresRounded, {.square = rounded_square}},
                        {kSquaresRounded, {.square = rounded_twice}},
                        {kSquaresRounded,
                         {.square =
                              [](const Element& e) {
                                return round_to(e.dtype, rounded_distance(e) * rounded_distance(e));
                              }}}}},
                      {"half-accumulation", half_accumulation(words)}};
  if (words.centred) {
    const auto distance = [](const Element& e) { return round_to(e.dtype, e.x - e.mean); };
    const auto from_rounded = [](const Element& e) { return e.x - round_to(e.dtype, e.mean); };
    for (const auto& rounded :
         {std::function(rounded_distance), std::function<double(const Element&)>(distance),
          std::function<double(const Element&)>(from_rounded)}) {
      all.push_back({"cast-order", {{kDistancesRounded, {.square = [rounded](const Element& e) {
                                       return rounded(e) * rounded(e);
                                     }}}}});
    }
  }
  return joined<Hooks>({all});
}

}  // namespace onepass::common
