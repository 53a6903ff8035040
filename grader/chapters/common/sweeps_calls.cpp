// The sweeps over calls that may come into each other's way, one after the other or at the same
// time, in each size for which a launcher may choose another kernel.
#include <algorithm>
#include <iterator>
#include <span>

#include "chapters/common/sizes.h"
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

constexpr std::int64_t kFirstLarge = 1 << 13;  // of what has no end in moments

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

/// A launcher may launch something else where a size is large.
void check_without_launches(const Function& function) {
  for (const contract::Size& size : sizes_to_try(function)) {
    for (const std::int64_t large : kClasses) {
      session().expect_error_left(contract::hollow(
          function, Dtype::fp32, with_large(function, size.name, std::min(large, size.most), 2, 40),
          session().random().bits(12)));
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
    for (std::int64_t power = kFirstLarge; power < size.most && !size.is_width; power *= 4) {
      const std::int64_t large = power + (number % 2 == 0 ? 16 : 1);
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
  check_without_clusters(function, check);
  check_without_launches(function);
}

}  // namespace onepass::common
