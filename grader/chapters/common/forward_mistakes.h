// The mistakes that the forward passes of RMSNorm, LayerNorm and BatchNorm share.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "chapters/common/forward.h"
#include "chapters/common/mistakes.h"

namespace onepass::common {

/// What a chapter's sentences call things.
struct ForwardWords {
  bool centred;          // is there a mean?
  bool biased;           // is there a bias?
  std::string variance;  // "the variance", or what there is in its place
  std::string v;         // the same in formulas
  std::string cols;      // what sums are divided by
  std::string index;     // of a weight: "col"
  RowWords of = {};
  std::vector<float> usual_eps = {1e-5f, 1e-6f, 1e-8f, 1e-12f};  // for which kernels forget theirs
};

/// In what is read, of tensors [rows, cols]. strides: for which that of x may be mistaken.
Table<ForwardHooks> index_mistakes(const std::vector<std::string>& strides);
/// In the variance, whose mean is forgotten. It gives what a mean of 0 gives, but for the mean
/// itself, which other checks look at.
Table<ForwardHooks> variance_about_0();
/// In mean and variance, but for that.
Table<ForwardHooks> statistics_mistakes(const ForwardWords& words);
/// In rstd and y, once mean and variance are there.
Table<ForwardHooks> scaling_mistakes(const ForwardWords& words);

/// Of those: a variance from a difference of squares, and squares and sums in 16 bits.
Table<ForwardHooks> one_pass_variance();
/// The variance E[(x - s)^2] - E[x - s]^2 with s = shift[row], [rows, 1], as blocks of so many
/// threads find it; and how far apart, in bounds, two orders of addition may be.
ForwardHooks in_one_pass_about(const Field& shift, std::int64_t threads);
constexpr std::int64_t kThreadsOfOnePass[] = {256, 1024, 512, 32, 1};
constexpr double kCancellationSlack = 200.0;
Table<ForwardHooks> sixteen_bit_squares(const ForwardWords& words);

/// A sentence, with the chapter's words for {variance} (at its beginning {Variance}), {v}, {cols},
/// {row} and {i}.
std::string say(const char* sentence, const ForwardWords& words);

/// Which of the two sums a mistake is in.
enum class Of { x, squares, both };
/// Sums divided by something else than their number.
ForwardHooks divided_by(const std::function<double(const Row&)>& divisor, Of of);
ForwardHooks summed_by(const RowSum& sum, Of of);

}  // namespace onepass::common
