#include "chapters/common/shapes.h"

#include <fmt/format.h>

#include <algorithm>

namespace onepass::common {

namespace contract = verdict::contract;
using verdict::session;

namespace {

// A warp with idle lanes, then a block; the last go round a block of 256 threads a second and a
// third time, with a part of it.
constexpr std::int64_t kWholeVectors[] = {64, 256, 520};
constexpr std::int64_t kOdd[] = {61, 257, 517};

}  // namespace

verdict::Random numbers(const std::string& tensor, Dtype dtype, std::int64_t rows,
                        std::int64_t cols) {
  return session().random().stream(
      fmt::format("{} {} {} {}", tensor, verdict::name(dtype), rows, cols));
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

verdict::Matrix with_spikes(verdict::Matrix x, const std::vector<std::int64_t>& columns,
                            double value) {
  for (std::int64_t row = 0; row < x.rows(); ++row) {
    x.set(row, columns[static_cast<std::size_t>(row)], value);
  }
  return x;
}

}  // namespace

verdict::Matrix small_but_for(Dtype dtype, std::int64_t cols,
                              const std::vector<std::int64_t>& columns) {
  const auto rows = static_cast<std::int64_t>(columns.size());
  return with_spikes(numbers("x", dtype, rows, cols).normal_matrix(dtype, rows, cols, 0.0, 0.05),
                     columns, 8.0);
}

verdict::Matrix zero_but_for(Dtype dtype, std::int64_t cols,
                             const std::vector<std::int64_t>& columns) {
  return with_spikes({dtype, static_cast<std::int64_t>(columns.size()), cols}, columns, 4.0);
}

void sweep(const Function& function, const CheckWay& check, const std::set<std::string>& only) {
  for (Dtype dtype : kEveryDtype) {
    std::size_t number = 0;
    for (const contract::Way& way : contract::sweep(function, dtype, session().random(), only)) {
      check(dtype, number++, way);
    }
  }
}

void sweep_rows(const Function& function, const CheckRows& check,
                const std::set<std::string>& only) {
  const auto check_way = [&](Dtype dtype, std::size_t number, const contract::Way& way) {
    const std::size_t width = number % std::size(kOdd);
    check(dtype, 2, way.odd_rows ? kOdd[width] : kWholeVectors[width], way.arrangement);
  };
  sweep(function, check_way, only);
}

void sweep_widths(std::int64_t least, std::int64_t most, const CheckRows& check) {
  std::vector<std::int64_t> widths = contract::widths(least, most);
  // Odd, so that only the first row starts on a 16-byte boundary; no power of two and no multiple
  // of a warp, but of 16 bytes.
  for (std::int64_t width : {769, 1000}) {
    if (least <= width && width <= most) {
      widths.push_back(width);
    }
  }
  for (Dtype dtype : kEveryDtype) {
    if (least <= 17 && 17 <= most) {
      check(dtype, 17, 17, {});
    }
    for (std::int64_t width : widths) {
      check(dtype, std::min<std::int64_t>(2, width), width, {});
    }
  }
}

void sweep_far_apart(const Function& function, const CheckRows& check) {
  for (const Arrangement& arrangement : contract::far_apart(function)) {
    check(Dtype::fp16, 3, 65, arrangement);
  }
}

void expect_nothing_done(const Function& function, const std::string& sentence) {
  contract::Arguments arguments;
  arguments.seed = session().random().bits(0);
  for (const contract::Size& size : function.sizes) {
    // Two and not one: who takes a channel or head for another still finds numbers.
    arguments.sizes[size.name] = std::max<std::int64_t>(2, size.least);
  }
  for (const contract::Size& size : function.sizes) {
    if (size.least == 0) {
      arguments.none = size.name;
      session().expect_untouched(call(function, Dtype::fp32, arguments), sentence);
    }
  }
}

void draw_rows(const Function& function, int count, const CheckRows& check) {
  for (int number = 0; number < count; ++number) {
    const verdict::Random draw = session().random().stream(fmt::format("shape {}", number));
    check(kEveryDtype[static_cast<std::size_t>(draw.integer(0, 0, 2))], draw.integer(1, 1, 9),
          draw.integer(2, 1, 3000), contract::drawn(function, draw.stream("arrangement")));
  }
}

}  // namespace onepass::common
