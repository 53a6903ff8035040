#include "verdict/worker/trace.h"

#include <initializer_list>
#include <stdexcept>

namespace onepass::verdict {
namespace {

constexpr std::uint64_t kMostCount = std::uint64_t{1}
                                     << 52;  // beyond it JavaScript has no integers

void require(bool is_sound) {
  if (!is_sound) {
    throw std::out_of_range("the trace makes no sense");
  }
}

void require_countable(std::initializer_list<std::uint64_t> counts) {
  for (const std::uint64_t count : counts) {
    require(count <= kMostCount);
  }
}

}  // namespace

void require_sound_trace(const wire::Observations& seen) {
  require(seen.trace.size() == seen.traffic.size());
  for (std::size_t launch = 0; launch < seen.trace.size(); ++launch) {
    const auto& lines = seen.traffic[launch].lines;
    for (const simulator::LineTraffic& line : lines) {
      require_countable({line.requests, line.lanes, line.bytes, line.units, line.least_units});
    }
    for (const simulator::TracedRequest& request : seen.trace[launch]) {
      require_countable({request.block});
      require(request.warp >= 0 && request.line >= 0);
      require(static_cast<std::size_t>(request.line) < lines.size());
      require(request.bytes >= 1 && request.bytes <= 16 && request.lanes != 0);
      require(request.offsets.size() ==
              static_cast<std::size_t>(__builtin_popcount(request.lanes)));
    }
  }
}

}  // namespace onepass::verdict
