// The sweeps over sizes at which a launcher turns to another kernel: nobody can list them, for they
// are the launcher's own.
#include <algorithm>

#include "chapters/common/sizes.h"
#include "chapters/common/sweeps.h"

namespace onepass::common {

namespace contract = verdict::contract;
using verdict::session;

namespace {

// How far kernels are asked for one by one. Of rows, there are others for many.
constexpr std::int64_t kMostShared = 16'384, kMostInRows = 1024;
// In wider calls than these a kernel for narrow ones has nothing to do.
constexpr std::int64_t kMostNarrow = 1024;

}  // namespace

void check_ends_of_kernels(const Function& function, const CheckCall& check) {
  const verdict::Random draw = session().random();
  const Dtype half = kSixteenBit[draw.bits(10) % kSixteenBit.size()];
  for (const contract::Size& size : sizes_to_try(function)) {
    const std::int64_t most =
        std::min(size.most, is_shared(function, size) ? kMostShared : kMostInRows);
    for (const Dtype dtype : {Dtype::fp32, half}) {
      for (const bool is_odd : {false, true}) {
        for (const std::int64_t end : ends_of_kernels(function, dtype, size.name, is_odd, most)) {
          const contract::Sizes sizes = sizes_of_end(function, size.name, end);
          check(call(function, dtype, {.sizes = sizes, .seed = draw.bits(11)}));
        }
      }
    }
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
