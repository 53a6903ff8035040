// The sweeps over calls that may come into each other's way, one after the other or at the same
// time, in each size for which a launcher may choose another kernel.
#include <algorithm>
#include <iterator>
#include <span>

#include "chapters/common/sweeps.h"

namespace onepass::common {

namespace contract = verdict::contract;
using verdict::session;

namespace {

// Past a block's threads; where the registers of a block no longer hold a row of any type; where
// its shared memory does not. (More of them would be more of the time to the verdict than the
// rest.)
constexpr std::int64_t kClasses[] = {1040, 8208, 33040};

constexpr std::int64_t kOneBlocks = 20'000;  // that one block still may have

// Of what has no end in moments: powers of two, as exponents, every other one.
constexpr int kFirstLarge = 13, kLastLarge = 25;
constexpr std::int64_t kLimited = std::int64_t{1} << 18;  // what has an end before that, has one

/// All sizes small, and that one large, with what is a part of it.
contract::Sizes with_large(const Function& function, const std::string& large, std::int64_t number,
                           std::int64_t others, std::int64_t wide) {
  contract::Sizes sizes;
  for (const contract::Size& size : function.sizes) {
    const bool is_limited = size.most <= kLimited;
    const bool is_part = size.name == "rotary_dim" && large == "head_dim";
    const std::int64_t wanted = size.name == large || is_part ? number : is_limited ? wide : others;
    const std::int64_t even = size.least == 2 ? wanted + wanted % 2 : wanted;
    sizes[size.name] = std::clamp(even, size.least, size.most);
  }
  return sizes;
}

/// Those that the function is told.
std::vector<contract::Size> sizes_to_try(const Function& function) {
  std::vector<contract::Size> sizes;
  for (const contract::Size& size : function.sizes) {
    if (size.is_argument && size.name != "rotary_dim") {
      sizes.push_back(size);
    }
  }
  return sizes;
}

/// Do threads share it, however large it is? Else it may be a number of blocks: columns are shared,
/// and what is added up over, unless it is a number of rows.
bool is_shared(const Function& function, const contract::Size& size) {
  const std::vector<std::string> rows = function.row_sizes();
  const contract::Extent alone = size.name.c_str();
  const auto has = [&](const contract::Extent& extent) {
    return std::count(extent.factors.begin(), extent.factors.end(), size.name) > 0;
  };
  return size.most <= kLimited ||
         (std::count(rows.begin(), rows.end(), size.name) == 0 &&
          std::any_of(function.tensors.begin(), function.tensors.end(), [&](const auto& tensor) {
            const bool is_statistic = tensor.role != contract::input && tensor.is_data() &&
                                      tensor.cols == contract::Extent(1);
            return tensor.cols == alone || (is_statistic && !has(tensor.rows));
          }));
}

void check_classes_in_pairs(const Function& function, const CheckCall& check) {
  const verdict::Random draw = session().random();
  const verdict::Session::SideBySide together(session(), true);
  std::uint64_t number = draw.bits(4);
  for (const contract::Size& size : sizes_to_try(function)) {
    const std::size_t most = is_shared(function, size) ? std::size(kClasses) : 1;
    for (const std::int64_t wanted : std::span(kClasses).first(most)) {
      const std::int64_t odd = static_cast<std::int64_t>(number % 2);
      const std::int64_t large = wanted + odd > size.most ? size.most - odd : wanted + odd;
      // What is so large is shared by blocks, if it ever is: one will do.
      const std::int64_t others = wanted > kOneBlocks ? 1 : 2;
      const contract::Sizes sizes = with_large(function, size.name, large, others, 4);
      const Dtype dtype = kEveryDtype[number++ % kEveryDtype.size()];
      for (const std::uint64_t seed : {5, 6}) {
        check(call(function, dtype, {.sizes = sizes, .seed = draw.bits(seed)}));
      }
    }
  }
}

/// Do all products of them fit an int, as headers promise of some?
bool are_within_int(const contract::Sizes& sizes) {
  std::int64_t product = 1;
  for (const auto& [name, size] : sizes) {
    product *= size;
  }
  return product < std::int64_t{1} << 31;
}

void check_beyond_classes(const Function& function) {
  std::uint64_t number = session().random().bits(7);
  for (const contract::Size& size : sizes_to_try(function)) {
    for (int power = kFirstLarge; power <= kLastLarge && size.most > kLimited; power += 2) {
      const std::int64_t large = (std::int64_t{1} << power) + (number % 2 == 0 ? 16 : 1);
      const std::int64_t others[] = {1, 2, 3};
      const std::int64_t wide[] = {1, 64, 1032, 100};
      contract::Sizes sizes =
          with_large(function, size.name, large, others[number % 3], wide[number % 4]);
      if (!are_within_int(sizes)) {
        sizes = with_large(function, size.name, large, 1, 1);
      }
      session().expect_in_bounds(contract::hollow(
          function, kEveryDtype[number % kEveryDtype.size()], sizes, session().random().bits(8)));
      ++number;
    }
  }
}

}  // namespace

void check_again(const CheckRows& check) {
  for (int repeat = 0; repeat < 5; ++repeat) {
    const Generation numbers(repeat / 2);
    check(Dtype::fp32, 4, 1000, {});
    check(Dtype::fp32, 3, 400, {});
    check(Dtype::bf16, 2 + repeat, 300, {});
  }
  check_side_by_side([&](std::int64_t rows) { check(Dtype::fp32, rows, 300, {}); });
}

void check_side_by_side(const std::function<void(std::int64_t rows)>& check) {
  const verdict::Session::SideBySide together(session());
  int number = 0;
  for (const std::int64_t rows : {40, 40, 23}) {
    const Generation numbers(++number);
    check(rows);
  }
}

void check_every_size(const Function& function, const CheckCall& check) {
  check_classes_in_pairs(function, check);
  check_beyond_classes(function);
}

}  // namespace onepass::common
