// The sweep over two sizes at once: a launcher may look at both, as one whose blocks are more than
// a device holds at once for many wide rows.
#include <algorithm>
#include <vector>

#include "chapters/common/sizes.h"
#include "chapters/common/sweeps.h"

namespace onepass::common {

namespace contract = verdict::contract;
using verdict::session;

namespace {

constexpr std::int64_t kFirstOfWidths = 64, kLastOfWidths = 65'536;
constexpr std::int64_t kWholeWidth = 16;  // fills vectors of every type, each half of it too
constexpr int kWidthsOfDoubling = 4;      // of each doubling, with a width each
// Rows, in such whole numbers: more than an H100 has multiprocessors.
constexpr std::int64_t kLeastMany = 9, kManyRows = 25;

}  // namespace

void ask_for_many_rows(const Function& function) {
  session().begin_afresh();
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
          const std::int64_t whole = width / kWholeWidth * kWholeWidth;
          const std::int64_t many = kWholeWidth * draw.integer(number + 1, kLeastMany, kManyRows);
          // What a launcher keeps of a kernel for whole vectors is not that of another one.
          for (const std::int64_t more : {0, 1}) {
            calls.push_back(contract::hollow(
                function, dtype,
                with_large(function, size.name, whole + more, many + more, kWholeWidth),
                draw.bits(1)));
          }
        }
      }
    }
    session().ask(calls);
  }
}

}  // namespace onepass::common
