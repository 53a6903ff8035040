// The inputs that the checks of all chapters share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "chapters/common/calls.h"

namespace onepass::common {

inline const std::vector<Dtype> kEveryDtype = {Dtype::fp32, Dtype::fp16, Dtype::bf16};
inline const std::vector<Dtype> kSixteenBit = {Dtype::fp16, Dtype::bf16};

/// The running check's random numbers for the tensor of that name and shape.
verdict::Random numbers(const std::string& tensor, Dtype dtype, std::int64_t rows,
                        std::int64_t cols);

/// While it lives they are other ones for each generation; else it is 0.
struct Generation {
  explicit Generation(int number);
  ~Generation();
  Generation(const Generation&) = delete;
  Generation& operator=(const Generation&) = delete;
};

/// Such numbers, normally distributed.
Matrix random_tensor(const std::string& tensor, Dtype dtype, std::int64_t rows, std::int64_t cols,
                     double mean = 0.0, double deviation = 1.0);

/// Tensors, each with an eps: numbers about as large as its root, where its place is most easily
/// seen, and some beside which it is without influence. Narrow rows; or one row of each width, for
/// which kernels may have other code.
using WithEps = std::vector<std::pair<Matrix, double>>;
WithEps rows_for_eps();
WithEps rows_for_eps(const std::vector<std::int64_t>& widths);

/// A mean beside which a deviation of 1 is so small that mean(x^2) - mean(x)^2 loses digits of it,
/// but not all: it is known by what is left. In bf16, which has few digits, one beside which there
/// still is a deviation.
inline double far_mean(Dtype dtype) {
  return dtype == Dtype::bf16 ? 100.0 : 200.0;
}

/// A hash filled call with an x whose mean is half as many of its deviations off.
verdict::Case far_off(const verdict::Case& call);
/// A hash filled call with tensors so small that what is done to eps shows, however wide a row is.
/// Nothing if its function has no eps.
std::optional<verdict::Case> near_zero(const verdict::Case& call);

/// Weights [1, cols], all different, from 0.5 to 1.5: weights of 1 would not be missed.
Matrix random_weight(Dtype dtype, std::int64_t cols);
/// All different, from -2 to -1: far from the weights, and from 0.
Matrix random_bias(Dtype dtype, std::int64_t cols);

/// x with value(row, col, x[row][col]) for each element.
template <typename Value>
Matrix changed(const Matrix& x, Value value) {
  return verdict::matrix_of(x.dtype(), x.rows(), x.cols(),
                            [&](auto row, auto col) { return value(row, col, x.get(row, col)); });
}

/// The first and the last column, and those on both sides of where warps, blocks and vectors end.
std::vector<std::int64_t> boundary_columns(std::int64_t cols);

/// Where a kernel may look for what all of so many numbers are like: at the ends, in the middle and
/// at the quarters. Of the first five rows each has one such place, the next has all of them, and
/// those after that have both ends and the middle.
constexpr std::int64_t kLandmarkRows = 8;
bool is_landmark(std::int64_t row, std::int64_t place, std::int64_t count);

/// One number in each row that is larger than all others, in row r at column columns[r]: 8 among
/// small ones, or 4 among zeros. It must not be lost.
Matrix small_but_for(Dtype dtype, std::int64_t cols, const std::vector<std::int64_t>& columns);
Matrix zero_but_for(Dtype dtype, std::int64_t cols, const std::vector<std::int64_t>& columns);

}  // namespace onepass::common
