// The sweeps over sizes at which a launcher turns to another kernel: nobody can list them, for they
// are the launcher's own.
#include <algorithm>

#include "chapters/common/sizes.h"
#include "chapters/common/sweeps.h"

namespace onepass::common {

namespace contract = verdict::contract;
using verdict::session;

namespace {

constexpr std::int64_t kVector = 8;        // fills vectors of every type
constexpr std::int64_t kTwoOthers = 4096;  // to which there are two of all other sizes
constexpr std::int64_t kOtherWidth = 40;
constexpr std::int64_t kMostInRows = 1024;  // many have checks of their own
// In wider calls than these a kernel for narrow ones has nothing to do.
constexpr std::int64_t kMostNarrow = 1024;

std::int64_t others_at_end(std::int64_t number) {
  return number > kTwoOthers ? 1 : 2;
}

contract::Sizes sizes_at_end(const Function& function, const std::string& size,
                             std::int64_t number) {
  return with_large(function, size, number, others_at_end(number), kOtherWidth);
}

/// Sizes from 1 to `most` at which the launcher turns to another kernel, or gives it other threads:
/// the last before and the first after, of the first such place in each doubling. They are found by
/// asking it, with calls whose numbers nobody looks at. is_odd: of those that fill no vector of 16
/// bytes; else of those that do. Nothing on a GPU, which does not tell its kernels.
std::vector<std::int64_t> ends_of_kernels(const Function& function, Dtype dtype,
                                          const std::string& size, bool is_odd, std::int64_t most) {
  const std::int64_t whole = size == "head_dim" ? 2 * kVector : kVector;  // either half of a head
  const auto number = [&](std::int64_t step) { return is_odd ? 2 * step + 1 : whole * step; };
  const auto kernels = [&](std::int64_t step) {
    const contract::Sizes sizes = sizes_at_end(function, size, number(step));
    return session().kernels_of(
        contract::hollow(function, dtype, sizes, session().random().bits(9)));
  };
  std::vector<std::int64_t> ends;
  std::int64_t first = is_odd ? 0 : 1;
  while (session().device() == "cpu" && number(2 * first + 1) <= most) {
    const std::int64_t last = 2 * first + 1;
    const auto of_first = kernels(first), of_last = kernels(last);
    if (of_last.empty()) {
      break;  // it takes long, and the next ones longer
    }
    std::int64_t before = first, after = last;
    while (of_first != of_last && after - before > 1) {
      const std::int64_t middle = before + (after - before) / 2;
      (kernels(middle) == of_first ? before : after) = middle;
    }
    if (of_first != of_last) {
      ends.insert(ends.end(), {number(before), number(after)});
    }
    first = last;
  }
  return ends;
}

void look_at_ends(const Function& function, const contract::Size& size,
                  const std::vector<bool>& odd, const LookAtEnd& look) {
  const Dtype half = kSixteenBit[session().random().bits(10) % kSixteenBit.size()];
  for (const Dtype dtype : {Dtype::fp32, half}) {
    for (const bool is_odd : odd) {
      for (const std::int64_t end :
           ends_of_kernels(function, dtype, size.name, is_odd, size.most)) {
        if (end >= size.least) {
          look(dtype, others_at_end(end), end);
        }
      }
    }
  }
}

}  // namespace

void for_ends_of_kernels(const Function& function, const contract::Size& size,
                         const LookAtEnd& look) {
  look_at_ends(function, size, {false, true}, look);
}

void for_ends_of_vectors(const Function& function, const contract::Size& size,
                         const LookAtEnd& look) {
  look_at_ends(function, size, {false}, look);
}

void check_ends_of_kernels(const Function& function, const CheckCall& check, std::int64_t most) {
  for (const contract::Size& size : sizes_to_try(function)) {
    const std::int64_t most_of_it = is_shared(function, size) ? most : kMostInRows;
    for_ends_of_kernels(function, {size.name, 1, std::min(size.most, most_of_it)},
                        [&](Dtype dtype, std::int64_t, std::int64_t end) {
                          check(call(function, dtype,
                                     {.sizes = sizes_at_end(function, size.name, end),
                                      .seed = session().random().bits(11)}));
                        });
  }
}

void check_each_kernel_not_finite(const Function& function, const std::string& size,
                                  const std::function<Case(std::int64_t number)>& call_of,
                                  const verdict::Outputs& outputs, const CheckOutputs& check) {
  for (const bool is_odd : {false, true}) {
    const std::vector<std::int64_t> ends =
        ends_of_kernels(function, Dtype::fp16, size, is_odd, kMostNarrow);
    for (std::size_t i = 0; i < ends.size(); i += 2) {
      check_one_not_finite(call_of(ends[i]), outputs, check);
    }
  }
}

}  // namespace onepass::common
