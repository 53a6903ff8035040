#include "chapters/common/shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace onepass::common {

namespace {

std::size_t generation = 0;  // only Generation changes it

}  // namespace

verdict::Random numbers(const std::string& tensor, Dtype dtype, std::int64_t rows,
                        std::int64_t cols) {
  return verdict::session().random().stream(fmt::format(
      "{} {} {} {}{}", tensor, verdict::name(dtype), rows, cols, std::string(generation, '\'')));
}

Generation::Generation(int number) {
  generation = static_cast<std::size_t>(number);
}

Generation::~Generation() {
  generation = 0;
}

Matrix random_tensor(const std::string& tensor, Dtype dtype, std::int64_t rows, std::int64_t cols,
                     double mean, double deviation) {
  return numbers(tensor, dtype, rows, cols).normal_matrix(dtype, rows, cols, mean, deviation);
}

namespace {

// The wider a row, the wider its bound: what is done to eps shows where there is little else.
constexpr double kShareOfEps = 0.25;

/// share: of the root of eps, how large the elements are.
std::pair<Matrix, double> with_eps(double eps, Dtype dtype, std::int64_t rows, std::int64_t cols,
                                   double share = 1.0) {
  const double size = eps == 0.0 ? 0.01 : std::sqrt(eps);
  return {random_tensor("x", dtype, rows, cols, 0.0, share * size), eps};
}

}  // namespace

WithEps rows_for_eps() {
  WithEps all;
  for (double eps : {0.0, 1e-6, 1e-5, 0.25}) {
    all.push_back(with_eps(eps, Dtype::fp32, 3, 300));
    all.push_back(with_eps(eps, Dtype::bf16, 3, 65));
    all.push_back(with_eps(eps, Dtype::fp16, 3, 65));
    all.emplace_back(random_tensor("x", Dtype::fp16, 3, 65), eps);
  }
  return all;
}

WithEps rows_for_eps(const std::vector<std::int64_t>& widths) {
  WithEps all;
  for (std::int64_t cols : widths) {
    all.push_back(
        with_eps(1e-5, kEveryDtype[all.size() % kEveryDtype.size()], 1, cols, kShareOfEps));
  }
  return all;
}

verdict::Case far_off(const verdict::Case& call) {
  std::vector<verdict::Buffer> buffers = call.buffers();
  for (verdict::Buffer& buffer : buffers) {
    if (buffer.name == "x") {
      buffer.hash->mean = 0.5 * far_mean(buffer.dtype) * buffer.hash->scale;
    }
  }
  return call.with(buffers);
}

std::optional<verdict::Case> near_zero(const verdict::Case& call) {
  const auto& scalars = call.contract()->scalars;
  if (std::none_of(scalars.begin(), scalars.end(),
                   [](const auto& scalar) { return scalar.name == "eps"; })) {
    return std::nullopt;
  }
  std::vector<verdict::Buffer> buffers = call.buffers();
  for (verdict::Buffer& buffer : buffers) {
    const verdict::contract::Tensor* tensor = verdict::contract::tensor_of(call, buffer.name);
    if (buffer.hash && tensor != nullptr && verdict::contract::has_results_shape(call, *tensor)) {
      buffer.hash->scale = kShareOfEps * std::sqrt(eps_of(call));
    }
  }
  return call.with(buffers);
}

Matrix random_weight(Dtype dtype, std::int64_t cols) {
  return numbers("weight", dtype, 1, cols).uniform_matrix(dtype, 1, cols, 0.5, 1.5);
}

Matrix random_bias(Dtype dtype, std::int64_t cols) {
  return numbers("bias", dtype, 1, cols).uniform_matrix(dtype, 1, cols, -2.0, -1.0);
}

std::vector<std::int64_t> boundary_columns(std::int64_t cols) {
  std::vector<std::int64_t> columns;
  for (std::int64_t col : {std::int64_t{0}, std::int64_t{7}, std::int64_t{8}, std::int64_t{31},
                           std::int64_t{32}, std::int64_t{255}, std::int64_t{256},
                           std::int64_t{1023}, std::int64_t{1024}, cols - 2, cols - 1}) {
    if (col < cols) {
      columns.push_back(col);
    }
  }
  return columns;
}

namespace {

Matrix with_spikes(Matrix x, const std::vector<std::int64_t>& columns, double value) {
  for (std::int64_t row = 0; row < x.rows(); ++row) {
    x.set(row, columns[static_cast<std::size_t>(row)], value);
  }
  return x;
}

}  // namespace

bool is_landmark(std::int64_t row, std::int64_t place, std::int64_t count) {
  const std::int64_t places[] = {0, count / 4, count / 2, count * 3 / 4, count - 1};
  constexpr std::int64_t kPlaces = std::size(places);
  if (row < kPlaces) {
    return place == places[row];
  }
  const auto found = std::find(std::begin(places), std::end(places), place) - std::begin(places);
  return found < kPlaces && (row == kPlaces || found % 2 == 0);
}

Matrix small_but_for(Dtype dtype, std::int64_t cols, const std::vector<std::int64_t>& columns) {
  const auto rows = static_cast<std::int64_t>(columns.size());
  return with_spikes(random_tensor("x", dtype, rows, cols, 0.0, 0.05), columns, 8.0);
}

Matrix zero_but_for(Dtype dtype, std::int64_t cols, const std::vector<std::int64_t>& columns) {
  return with_spikes({dtype, static_cast<std::int64_t>(columns.size()), cols}, columns, 4.0);
}

}  // namespace onepass::common
