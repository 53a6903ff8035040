#include "chapters/common/sweeps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace onepass::common {

namespace contract = verdict::contract;
using verdict::session;

namespace {

// A warp with idle lanes, then a block; the last go round a block of 256 threads a second and a
// third time, with a part of it.
constexpr std::int64_t kWholeVectors[] = {64, 256, 520};
constexpr std::int64_t kOdd[] = {61, 257, 517};
constexpr std::int64_t kHalfVectors[] = {60, 260, 516};  // of bf16, but whole ones of fp32

// More than a grid's y and z can have, and than 512 groups of 128 rows; of rows, also if a block
// has eight of them. Either way more elements than threads that a device holds: who goes round a
// loop over them sees other ones.
constexpr std::int64_t kAboveGridY = 65537;
constexpr std::int64_t kFewRows = 4;  // of so many that they are far apart
constexpr std::int64_t kAboveGridYOfEight = 8 * 65535 + 1;
// More rows than there are blocks in a grid that fills a device: 132 multiprocessors have 8 each.
constexpr std::int64_t kAboveFullDevice = 1100;
constexpr std::int64_t kLastEnd = 3000;  // of those that are drawn for each size

// Rows from one to the next of four. Far apart there are as many as there may be, and more than
// 2^32 elements; below there are fewer than 2^31, and near no more than any grid has threads. All
// are more than the 1 MiB apart in which writes between rows would be looked for. Each time four
// rows are behind whole blocks, however many rows or elements a block has: what leaves out a block
// that is not full leaves it out near too. Far and below, a float rounds the number of elements
// down.
constexpr std::int64_t kWholeBlocks = 5 * 8192;  // and three times as many, for there are 3 gaps
constexpr verdict::Session::Apart kApart = {
    .far = 136 * kWholeBlocks + 1, .below = 27 * kWholeBlocks + 1, .near = 7 * kWholeBlocks + 1};
constexpr std::int64_t kFarColumns[] = {261, 264};  // no whole vectors, and whole ones

}  // namespace

void sweep(const Function& function, const CheckWay& check, const std::set<std::string>& only) {
  for (Dtype dtype : kEveryDtype) {
    std::size_t number = 0;
    for (const contract::Way& way : contract::sweep(function, dtype, session().random(), only)) {
      check(dtype, number++, way);
    }
  }
}

std::vector<Arrangement> columns_off_boundaries(const Function& function, Dtype dtype,
                                                const std::set<std::string>& only) {
  std::vector<Arrangement> arrangements;
  for (const contract::Tensor& tensor : function.tensors) {
    const bool is_column = tensor.is_data() && tensor.cols == contract::Extent(1);
    const auto vector = 16 / static_cast<std::int64_t>(verdict::size_of(tensor.dtype_in(dtype)));
    for (std::int64_t offset = 1; is_column && offset < vector; offset *= 2) {
      if (only.empty() || only.count(tensor.name) > 0) {
        arrangements.push_back({{tensor.name, {.offset = offset}}});
      }
    }
  }
  return arrangements;
}

Arrangement rows_far_apart(const Function& function) {
  Arrangement far;
  for (const contract::Tensor& tensor : function.tensors) {
    if (tensor.traits.strided) {
      far.places[tensor.name].gap = 4'000'000;
    }
  }
  return far;
}

void sweep_rows(const Function& function, const CheckRows& check,
                const std::set<std::string>& only) {
  const auto check_way = [&](Dtype dtype, std::size_t number, const contract::Way& way) {
    const std::size_t width = number % std::size(kOdd);
    const auto& odd = dtype == Dtype::bf16 ? kHalfVectors : kOdd;
    check(dtype, way.more > 0 ? 5 : 2, way.row(kWholeVectors[width], odd[width]), way.arrangement);
  };
  sweep(function, check_way, only);
  Arrangement padded;  // shorter than a vector, though each row starts with one
  for (const contract::Tensor& tensor : function.tensors) {
    padded.places[tensor.name].padded = tensor.traits.strided;
  }
  for (Dtype dtype : kEveryDtype) {
    check(dtype, 2, 3, padded);
  }
  for (const Arrangement& arrangement : columns_off_boundaries(function, Dtype::fp32, only)) {
    check(Dtype::fp32, 9, 8, arrangement);
    check(Dtype::fp32, 8, 8, arrangement);  // whole vectors of rows
  }
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
  sweep_wide_far_apart(function, check, only);
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

void sweep_large_sizes(const Function& function, const std::vector<std::vector<std::string>>& sizes,
                       const CheckCall& check) {
  const verdict::Session::Sampling sampled(session(), verdict::Session::Sample::of_many);
  const verdict::Random draw = session().random();
  std::size_t number = draw.bits(0) % kEveryDtype.size();
  const auto check_sizes = [&](const std::vector<std::string>& large, std::int64_t most,
                               std::int64_t others) {
    contract::Arguments arguments;
    arguments.seed = draw.bits(1);
    for (const contract::Size& size : function.sizes) {
      const bool is_large = std::find(large.begin(), large.end(), size.name) != large.end();
      arguments.sizes[size.name] = size.nearest(is_large ? most : others);
    }
    check(call(function, kEveryDtype[number++ % kEveryDtype.size()], arguments));
  };
  for (const std::vector<std::string>& large : sizes) {
    for (const std::int64_t end : contract::widths_past_ends(kLastEnd, draw.stream(large[0]))) {
      check_sizes(large, end, 2);
    }
    const bool are_rows = large == sizes.front();
    check_sizes(large, are_rows ? kAboveGridYOfEight : kAboveGridY, are_rows ? 1 : 3);
  }
}

void check_any_numbers(const Function& function, const CheckCall& check) {
  for (Dtype dtype : kEveryDtype) {
    contract::Arguments arguments;
    arguments.seed = session().random().bits(0);
    for (const contract::Size& size : function.sizes) {
      arguments.sizes[size.name] = 4;
    }
    check(call(function, dtype, arguments));
  }
}

namespace {

/// A call with four rows.
Case few_rows(const Function& function, const std::string& size, const contract::Sizes& sizes) {
  const verdict::Random draw = session().random();
  const Dtype dtype = kSixteenBit[draw.bits(0) % kSixteenBit.size()];
  contract::Arguments arguments{.sizes = sizes, .seed = draw.bits(1)};
  arguments.sizes[size] = kFewRows;
  return call(function, dtype, arguments);
}

}  // namespace

void check_far_rows(const Function& function, const std::string& size, const contract::Sizes& sizes,
                    const verdict::Outputs& outputs) {
  check_far_rows(few_rows(function, size, sizes), size, outputs);
}

void check_far_rows(const Case& few, const std::string& size, const verdict::Outputs& outputs) {
  const auto spread = [&](std::int64_t rows) { return contract::spread(few, size, rows); };
  session().expect_far(few, spread, kApart, outputs);
}

void sweep_values(std::int64_t rows, std::int64_t cols, const CheckValues& check) {
  const auto scaled = [&](Dtype dtype, double size, double mean = 0.0) {
    return random_tensor("values", dtype, rows, cols, mean * size, size);
  };
  for (Dtype dtype : kEveryDtype) {
    const bool half = dtype == Dtype::fp16;  // whose smallest normal number is 6e-5
    // Cubes of their reciprocals are numbers too.
    check(scaled(dtype, half ? 1e-6 : 1e-8), 0.0);
    check(scaled(dtype, half ? 1e4 : 1e8), 1e-5);
    // Whose sums are exact: else all of their errors would point the same way.
    check(changed(scaled(dtype, 1.0),
                  [](auto row, auto, double) { return 0.75 * static_cast<double>(row + 1); }),
          1e-5);
    // bf16 has too few digits for that: it would be rows that are all equal again.
    check(scaled(dtype, 0.5, dtype == Dtype::bf16 ? 100.0 : 1000.0), 1e-5);
  }
}

void check_row_counts(const Function& function, const CheckRows& check) {
  check(Dtype::fp32, 1, 100, {});
  expect_nothing_done(function);
  for (std::int64_t rows : {3, 7, 31}) {
    check(Dtype::bf16, rows, 32, {});
  }
  check(Dtype::fp32, 257, 33, {});
  const verdict::Session::Sampling sampled(session(), verdict::Session::Sample::of_many);
  check(Dtype::fp16, kAboveGridY, 3, {});
  check(Dtype::bf16, kAboveGridYOfEight, 1, {});
  check(Dtype::fp32, kAboveFullDevice, 520, {});  // of several warps
}

void check_far_rows(const Function& function, const verdict::Outputs& outputs) {
  for (const std::int64_t cols : kFarColumns) {
    check_far_rows(function, "rows", {{"cols", cols}}, outputs);
  }
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

void check_many_steps(const CheckRows& check_sums) {
  check_sums(Dtype::fp32, 3001, 3, {{"dy", {2}}, {"x", {4}}, {"dx", {1}}});
}

void check_many_rows(const CheckRows& check) {
  check(Dtype::fp32, 1031, 3, {{"dy", {2}}, {"x", {4}}, {"dx", {1}}});  // a prime
  check(Dtype::fp16, 514, 257, {});                                     // several warps a block
  for (const std::int64_t rows : {511, 512, 513}) {  // scratch has room for 512 groups
    check(Dtype::bf16, rows, 3, {});
  }
  if (session().device() == "gpu") {
    check(Dtype::bf16, 3000, 4096, {});
    check(Dtype::fp32, 3000, 1000, {});
  }
}

void check_fewer_blocks_than_room(const CheckRows& check) {
  check(Dtype::fp32, 135, 2061, {});  // of 132 multiprocessors, and over 8 columns for 256 threads
  if (session().device() == "gpu") {
    check(Dtype::fp16, 140, 8200, {});
  }
}

void check_beyond_groups(const CheckRows& check, bool of_rows) {
  const verdict::Session::Sampling sampled(session(), verdict::Session::Sample::of_many, of_rows);
  check(Dtype::fp16, kAboveGridY, 3, {});
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
    const Dtype dtype = kEveryDtype[static_cast<std::size_t>(draw.integer(2, 0, 2))];
    const auto shape = static_cast<std::uint64_t>(number);
    check(dtype, contract::drawn_size(draw, shape, 0, 9), contract::drawn_size(draw, shape, 1, 99),
          {});
    if (number % 2 == 0) {
      check(dtype, draw.integer(3, 1, 9), draw.integer(4, 1, 3000),
            contract::drawn(function, draw.stream("arrangement")));
    }
  }
}

}  // namespace onepass::common
