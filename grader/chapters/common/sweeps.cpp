#include "chapters/common/sweeps.h"

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

constexpr std::int64_t kAboveGridY = 65537;

}  // namespace

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

void sweep_arrangements(const Function& function, const CheckRows& check,
                        const std::set<std::string>& only) {
  sweep_rows(function, check, only);
  sweep_far_apart(function, check);
}

void expect_nothing_done(const Function& function) {
  contract::Arguments arguments;
  arguments.seed = session().random().bits(0);
  for (const contract::Size& size : function.sizes) {
    // Two and not one: who takes a channel or head for another still finds numbers.
    arguments.sizes[size.name] = std::max<std::int64_t>(2, size.least);
  }
  for (const contract::Size& size : function.sizes) {
    if (size.least == 0) {
      arguments.none = size.name;
      session().expect_untouched(
          call(function, Dtype::fp32, arguments),
          fmt::format("With {} = 0 there is nothing to do, yet {{}} was written.", size.name));
    }
  }
}

void check_widest(const Function& function, const CheckRows& check,
                  const std::vector<Dtype>& dtypes, std::int64_t rows) {
  for (const std::int64_t cols : contract::widest(function, "cols")) {
    for (Dtype dtype : dtypes) {
      check(dtype, rows, cols, {});
    }
  }
}

void check_wide_rows(const Function& function, const CheckRows& check) {
  check(Dtype::bf16, 2, 4096, {});
  check(Dtype::fp32, 1, 4101, {});  // odd
  check(Dtype::bf16, 2, 8192, {});
  check(Dtype::fp16, 1, 16384, {});
  check_widest(function, check);
}

void check_row_counts(const Function& function, const CheckRows& check) {
  check(Dtype::fp32, 1, 100, {});
  expect_nothing_done(function);
  for (std::int64_t rows : {3, 7, 31}) {
    check(Dtype::bf16, rows, 32, {});
  }
  check(Dtype::fp32, 257, 33, {});
  const verdict::Session::Sampling sampled(session());
  check(Dtype::fp16, kAboveGridY, 3, {});
}

void sweep_column_sums(const CheckRows& check) {
  for (Dtype dtype : kEveryDtype) {
    check(dtype, 17, 17, {});  // square: swapped axes stay inside
    for (std::int64_t rows : {1, 2, 3, 7, 31, 65}) {
      check(dtype, rows, 5, {});
    }
    for (std::int64_t cols : {1, 31, 33, 257, 1000, 1025}) {
      check(dtype, 3, cols, {});
    }
  }
}

void check_many_rows(const CheckRows& check) {
  check(Dtype::fp32, 1031, 3, {});  // a prime
  check(Dtype::fp32, 1031, 3, {{"dy", {2}}, {"x", {4}}, {"dx", {1}}});
  check(Dtype::fp16, 514, 257, {});  // several warps a block
  if (session().device() == "gpu") {
    check(Dtype::fp16, kAboveGridY, 3, {});
    check(Dtype::bf16, 3000, 4096, {});
    check(Dtype::fp32, 3000, 1000, {});
  }
}

void check_again(const CheckRows& check) {
  for (int repeat = 0; repeat < 5; ++repeat) {
    check(Dtype::fp32, 4, 1000, {});
    check(Dtype::bf16, 2 + repeat, 300, {});
  }
}

void sweep_spikes(const CheckSpikes& check) {
  for (std::int64_t cols : {63, 257, 1000, 4097}) {
    check(Dtype::fp32, cols, boundary_columns(cols));
  }
  check(Dtype::fp16, 1003, boundary_columns(1003));
}

void draw_rows(const Function& function, int count, const CheckRows& check) {
  for (int number = 0; number < count; ++number) {
    const verdict::Random draw = session().random().stream(fmt::format("shape {}", number));
    check(kEveryDtype[static_cast<std::size_t>(draw.integer(0, 0, 2))], draw.integer(1, 1, 9),
          draw.integer(2, 1, 3000), contract::drawn(function, draw.stream("arrangement")));
  }
}

}  // namespace onepass::common
