// The sweeps over sizes at which a launcher turns to another kernel: nobody can list them, for they
// are the launcher's own.
#include <algorithm>

#include "chapters/common/sizes.h"
#include "chapters/common/sweeps.h"

namespace onepass::common {

namespace contract = verdict::contract;
using verdict::session;

namespace {

constexpr std::int64_t kMostInRows = 1024;  // many have checks of their own
// In wider calls than these a kernel for narrow ones has nothing to do.
constexpr std::int64_t kMostNarrow = 1024;

}  // namespace

void for_ends_of_kernels(const Function& function, const std::string& size, std::int64_t most,
                         const LookAtEnd& look) {
  const Dtype half = kSixteenBit[session().random().bits(10) % kSixteenBit.size()];
  for (const Dtype dtype : {Dtype::fp32, half}) {
    for (const bool is_odd : {false, true}) {
      for (const std::int64_t end : ends_of_kernels(function, dtype, size, is_odd, most)) {
        look(dtype, end, is_odd);
      }
    }
  }
}

void check_ends_of_kernels(const Function& function, const CheckCall& check, std::int64_t most) {
  for (const contract::Size& size : sizes_to_try(function)) {
    const std::int64_t most_of_it = is_shared(function, size) ? most : kMostInRows;
    for_ends_of_kernels(function, size.name, std::min(size.most, most_of_it),
                        [&](Dtype dtype, std::int64_t end, bool) {
                          check(call(function, dtype,
                                     {.sizes = sizes_of_end(function, size.name, end),
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
