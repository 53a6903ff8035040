// The sweeps over calls of a few elements: many numbers of each size, for what is made of sizes,
// such as a reciprocal, goes wrong for some of them; and tensors off boundaries that hold less than
// is left before the next one.
#include <algorithm>
#include <string>
#include <vector>

#include "chapters/common/sizes.h"
#include "chapters/common/sweeps.h"

namespace onepass::common {

namespace contract = verdict::contract;
using verdict::session;

namespace {

constexpr std::int64_t kMostNumber = 130;
constexpr std::int64_t kDrawnNumbers = 32;  // that are drawn, of all sizes together
constexpr std::int64_t kRowsOfSmall = 5;
constexpr std::int64_t kMostTiny = 3;

/// All sizes are 1, or as small as they get, but for this one, and a few rows. (Of what two
/// elements are a pair, it is twice as many.)
contract::Sizes with_number(const Function& function, const std::string& size,
                            std::int64_t number) {
  const std::vector<std::string> rows = function.row_sizes();
  contract::Sizes sizes;
  for (const contract::Size& each : function.sizes) {
    const bool is_rows = std::count(rows.begin(), rows.end(), each.name) > 0;
    const bool is_all = each.name == size || each.part_of == size;
    const std::int64_t wanted = is_all ? number : is_rows ? kRowsOfSmall : 1;
    sizes[each.name] = each.nearest(each.multiple * wanted);
  }
  return sizes;
}

/// Some of all numbers of each size that is none of rows, as many of the small as of the large.
void check_small_numbers(const Function& function, const CheckCall& check) {
  const std::vector<std::string> rows = function.row_sizes();
  std::vector<contract::Size> sizes = sizes_to_try(function);
  std::erase_if(sizes, [&](const contract::Size& size) {
    return std::count(rows.begin(), rows.end(), size.name) > 0;
  });
  const verdict::Random draw = session().random().stream("small numbers");
  for (const contract::Size& size : sizes) {
    const std::int64_t cells = kDrawnNumbers / static_cast<std::int64_t>(sizes.size());
    for (std::int64_t cell = 0; cell < cells; ++cell) {
      const std::int64_t first = 2 + (kMostNumber - 1) * cell / cells;
      const std::int64_t last = 1 + (kMostNumber - 1) * (cell + 1) / cells;
      const auto number = static_cast<std::uint64_t>(cell);
      const Dtype dtype = kEveryDtype[(draw.bits(number) >> 8) % kEveryDtype.size()];
      check(call(function, dtype,
                 {.sizes = with_number(function, size.name,
                                       draw.stream(size.name).integer(number, first, last)),
                  .seed = draw.bits(0)}));
    }
  }
}

/// Each size as small as it gets, or, if they are to be drawn, up to three.
contract::Sizes tiny_sizes(const Function& function, const verdict::Random* draw) {
  contract::Sizes sizes;
  std::uint64_t number = 0;
  for (const contract::Size& size : function.sizes) {
    const std::int64_t tiny = draw == nullptr ? 1 : draw->integer(++number, 1, kMostTiny);
    sizes[size.name] = size.nearest(tiny);
  }
  for (const contract::Size& size : function.sizes) {
    if (!size.part_of.empty()) {
      sizes[size.name] = std::min(sizes[size.name], sizes[size.part_of]);
    }
  }
  if (sizes.count("batch") > 0) {
    ++sizes["batch"];  // of one element there is no variance
  }
  return sizes;
}

void check_tiny_off_boundaries(const Function& function, const CheckCall& check) {
  for (const Dtype dtype : kEveryDtype) {
    const verdict::Random draw = session().random().stream(verdict::name(dtype));
    std::uint64_t number = 0;
    for (const Arrangement& pair : contract::pairs_off_boundaries(function, dtype, draw)) {
      const verdict::Random other = draw.stream(std::to_string(++number));
      for (const verdict::Random* sizes : {static_cast<const verdict::Random*>(nullptr), &other}) {
        check(call(function, dtype, {.sizes = tiny_sizes(function, sizes), .seed = other.bits(0)},
                   pair));
      }
    }
  }
}

}  // namespace

void check_small(const Function& function, const CheckCall& check) {
  check_small_numbers(function, check);
  check_tiny_off_boundaries(function, check);
}

void check_small_and_ends(const Function& function, const CheckCall& check, std::int64_t most) {
  check_small(function, check);
  ask_for_many_rows(function);
  check_ends_of_kernels(function, check, most);
}

}  // namespace onepass::common
