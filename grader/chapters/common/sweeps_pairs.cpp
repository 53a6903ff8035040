// The sweeps over two sizes at once: a launcher may look at both, as one that has a kernel for many
// narrow rows, or whose blocks are more than a device holds at once for many wide ones.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "chapters/common/sizes.h"
#include "chapters/common/sweeps.h"

namespace onepass::common {

namespace contract = verdict::contract;
using verdict::session;

namespace {

constexpr std::int64_t kFirstOfWidths = 64, kLastOfWidths = 32'768;
constexpr std::int64_t kWholeWidth = 16;  // fills vectors of every type, each half of it too
constexpr int kWidthsOfDoubling = 4;      // of each doubling, with a width each
constexpr std::int64_t kLeastMany = 133,
                       kManyRows = 400;  // rows: more than an H100 has multiprocessors
constexpr std::int64_t kMostOfMany = 8'192;

std::set<std::string> kernels_of(const Case& call) {
  std::set<std::string> kernels;
  for (const auto& launch : session().launches_of(call)) {
    kernels.insert(launch.kernel);
  }
  return kernels;
}

}  // namespace

void ask_for_many_rows(const Function& function) {
  const verdict::Random draw = session().random().stream("many rows");
  for (const Dtype dtype : {Dtype::fp32, kSixteenBit[draw.bits(0) % kSixteenBit.size()]}) {
    std::vector<Case> calls;
    for (const contract::Size& size : sizes_to_try(function)) {
      const std::int64_t most = is_shared(function, size) ? std::min(size.most, kLastOfWidths) : 0;
      for (std::int64_t octave = kFirstOfWidths; 2 * octave <= most; octave *= 2) {
        for (int cell = 0; cell < kWidthsOfDoubling; ++cell) {
          const auto number = static_cast<std::uint64_t>(octave + 2 * cell);
          const std::int64_t first = octave + octave * cell / kWidthsOfDoubling;
          const std::int64_t width =
              draw.integer(number, first, first + octave / kWidthsOfDoubling - 1);
          calls.push_back(contract::hollow(
              function, dtype,
              with_large(function, size.name, width / kWholeWidth * kWholeWidth,
                         draw.integer(number + 1, kLeastMany, kManyRows), kWholeWidth),
              draw.bits(1)));
        }
      }
    }
    session().ask(calls);
  }
}

void for_kernels_of_many(const Function& function, const std::string& size,
                         const contract::Sizes& others,
                         const std::function<void(Dtype dtype, std::int64_t number)>& look) {
  if (session().device() != "cpu") {
    return;
  }
  const verdict::Random draw = session().random().stream("kernels of many");
  for (const Dtype dtype : {Dtype::fp32, kSixteenBit[draw.bits(0) % kSixteenBit.size()]}) {
    const auto call = [&](std::int64_t number) {
      contract::Sizes sizes = others;
      sizes[size] = number;
      return contract::hollow(function, dtype, sizes, draw.bits(1));
    };
    std::vector<Case> doublings;
    for (std::int64_t number = 2; number <= kMostOfMany; number *= 2) {
      doublings.push_back(call(number));
    }
    session().ask(doublings);
    for (std::int64_t number = 2; 2 * number <= kMostOfMany; number *= 2) {
      const std::set<std::string> kernels = kernels_of(call(number));
      std::int64_t before = number, after = 2 * number;
      if (kernels_of(call(after)) == kernels) {
        continue;
      }
      while (after - before > 1) {
        const std::int64_t middle = before + (after - before) / 2;
        (kernels_of(call(middle)) == kernels ? before : after) = middle;
      }
      look(dtype, after);
    }
  }
}

}  // namespace onepass::common
