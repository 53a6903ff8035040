// The sweeps over as many rows or elements as an int can count.
#include <limits>
#include <optional>

#include "chapters/common/sweeps.h"

namespace onepass::common {

namespace contract = verdict::contract;
using verdict::session;

namespace {

constexpr std::int64_t kMost = std::numeric_limits<int>::max();
constexpr std::int64_t kHalf = std::int64_t{1} << 30;

Dtype some_16_bit() {
  return kSixteenBit[session().random().bits(11) % kSixteenBit.size()];
}

/// Two rows of one column, of which the last adds something to the sums.
Case two_rows(const Function& function) {
  contract::Arguments arguments{.sizes = {{"rows", 2}, {"cols", 1}},
                                .seed = session().random().bits(12)};
  const Dtype dtype = some_16_bit();
  arguments.values["dy"] = verdict::matrix_of(
      dtype, 2, 1, [](std::int64_t row, std::int64_t) { return static_cast<double>(row); });
  return call(function, dtype, std::move(arguments));
}

}  // namespace

void check_long_walk(const Function& function, const std::string& size,
                     const contract::Sizes& others) {
  const Dtype dtype = some_16_bit();
  const auto with = [&](std::int64_t number) {
    contract::Sizes sizes = others;
    sizes[size] = number;
    return contract::hollow(function, dtype, sizes, session().random().bits(13));
  };
  session().expect_walk_in_bounds(with(kMost), with(kHalf));
}

void check_last_row(const Function& function, const verdict::Outputs& sums) {
  const Case few = two_rows(function);
  session().expect_last_row(
      few, [&](std::int64_t rows) { return contract::spread(few, "rows", rows - 1); }, sums);
  check_long_walk(function, "rows", {{"cols", 1}});
}

}  // namespace onepass::common
