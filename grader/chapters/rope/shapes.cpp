// The inputs that chapter 3's checks share.
#include "chapters/rope/shapes.h"

#include <fmt/format.h>

#include <cmath>
#include <numeric>

namespace onepass::rope {

std::vector<std::int64_t> head_dims() {
  std::vector<std::int64_t> dims = verdict::contract::some_widths(1, 129);
  for (std::int64_t& dim : dims) {
    dim *= 2;
  }
  return dims;
}

Tables tables(std::int64_t first, std::int64_t rows, std::int64_t half, Dtype dtype, double base) {
  Tables result{Matrix(dtype, rows, half), Matrix(dtype, rows, half)};
  for (std::int64_t i = 0; i < half; ++i) {
    const double frequency = std::pow(base, -static_cast<double>(i) / static_cast<double>(half));
    for (std::int64_t row = 0; row < rows; ++row) {
      const double angle = static_cast<double>(first + row) * frequency;
      result.cos.set(row, i, std::cos(angle));
      result.sin.set(row, i, std::sin(angle));
    }
  }
  return result;
}

Matrix positions(Dtype dtype, const std::vector<std::int64_t>& values) {
  Matrix result(dtype, static_cast<std::int64_t>(values.size()), 1);
  for (std::size_t token = 0; token < values.size(); ++token) {
    result.set(static_cast<std::int64_t>(token), 0, static_cast<double>(values[token]));
  }
  return result;
}

std::vector<std::int64_t> counting(std::int64_t tokens) {
  std::vector<std::int64_t> values(static_cast<std::size_t>(tokens));
  std::iota(values.begin(), values.end(), 0);
  return values;
}

std::vector<std::int64_t> drawn_positions(std::int64_t count, std::int64_t rows) {
  const verdict::Random draw = verdict::session().random().stream("positions");
  std::vector<std::int64_t> values;
  for (std::int64_t token = 0; token < count; ++token) {
    values.push_back(draw.integer(static_cast<std::uint64_t>(token), 0, rows - 1));
  }
  return values;
}

DrawnShape drawn_shape(std::uint64_t number) {
  const verdict::Random draw = verdict::session().random().stream(fmt::format("shape {}", number));
  DrawnShape shape;
  shape.dtype = kEveryDtype[static_cast<std::size_t>(draw.integer(9, 0, 2))];
  const auto size = [&](std::uint64_t i, std::int64_t most) {
    return verdict::contract::drawn_size(draw, number, i, most);
  };
  shape.tokens = size(0, 9);
  shape.heads = size(1, 9);
  shape.rotary_dim = 2 * size(3, 40);
  shape.head_dim = 2 * (size(2, 40) + 40);
  shape.k_heads = size(4, 9);
  shape.first = draw.integer(8, 1, 100000);
  return shape;
}

std::vector<Arrangement> drawn_arrangements(const Function& function, std::uint64_t number) {
  const verdict::Random draw =
      verdict::session().random().stream(fmt::format("arrangement {}", number));
  return {Arrangement{}, verdict::contract::drawn(function, draw)};
}

void check_quarter_turns(const Function& function, const CheckCall& check) {
  constexpr std::int64_t kTokens = 4, kHeadDim = 16;
  const auto quarters = [&](const char* table, Dtype dtype, std::int64_t first_quarter) {
    constexpr double kCos[] = {1.0, 0.0, -1.0, 0.0};
    Matrix result(function.find(table)->dtype_in(dtype), kTokens, kHeadDim / 2);
    return changed(result, [&](auto token, auto pair, double) {
      return kCos[((token == 0 ? 0 : token + pair) + first_quarter) % 4];
    });
  };
  for (Dtype dtype : kEveryDtype) {
    verdict::contract::Arguments arguments;
    arguments.seed = verdict::session().random().bits(2);
    for (const verdict::contract::Size& size : function.sizes) {
      const bool is_width = size.name == "head_dim" || size.name == "rotary_dim";
      arguments.sizes[size.name] = is_width ? kHeadDim : size.name == "heads" ? 2 : kTokens;
    }
    arguments.values["cos"] = quarters("cos", dtype, 0);
    arguments.values["sin"] = quarters("sin", dtype, 3);
    if (const auto* tensor = function.find("positions")) {
      arguments.values["positions"] = positions(tensor->dtype_in(dtype), counting(kTokens));
    }
    check(call(function, dtype, std::move(arguments)));
  }
}

void check_long_walks(const Function& function, const CheckCall& check) {
  constexpr std::int64_t kThreads = 132 * 2048;    // of the largest GPU of the workbook's
  constexpr std::int64_t kHeads = 5, kPairs = 13;  // primes that the threads of no grid have
  verdict::contract::Arguments arguments;
  arguments.seed = verdict::session().random().bits(3);
  for (const verdict::contract::Size& size : function.sizes) {
    const bool is_width = size.name == "head_dim" || size.name == "rotary_dim";
    const bool is_heads = size.name == "heads" || size.name == "q_heads";
    arguments.sizes[size.name] = is_width                 ? 2 * kPairs
                                 : is_heads               ? kHeads
                                 : size.name == "k_heads" ? 2
                                                          : kThreads / (kHeads * kPairs) + 2;
  }
  check(call(function, Dtype::fp16, std::move(arguments)));
}

void check_far_tokens(const Function& function, const verdict::Outputs& outputs) {
  // More than 2^32 pairs, and 2^31 angles.
  check_far_rows(function, "tokens", {{"heads", 2}, {"head_dim", 264}}, outputs);
  check_far_rows(function, "tokens", {{"heads", 2}, {"head_dim", 32}}, outputs);  // loops are short
}

}  // namespace onepass::rope
