// What a call asked of one tensor.
#include "chapters/common/requests.h"

#include <fmt/format.h>

#include <utility>

namespace onepass::common {
namespace {

constexpr double kOnce = 1.01;       // room for an element or two that are looked at again
constexpr double kMostlyPacks = 12;  // bytes: 16, but for what is left over at a row's ends

/// The line of the student's file where the tensor is accessed most, if it is known.
std::optional<std::string> busiest_line(const verdict::Traffic& traffic, const std::string& buffer,
                                        verdict::AccessType type) {
  const verdict::LineTraffic* busiest = nullptr;
  for (const verdict::LineTraffic& line : traffic.lines) {
    if (line.buffer == buffer && line.type == type && line.line > 0 &&
        (busiest == nullptr || line.lanes >= busiest->lanes)) {
      busiest = &line;
    }
  }
  return busiest == nullptr ? std::nullopt
                            : std::optional(fmt::format("{}:{}", busiest->file, busiest->line));
}

[[noreturn]] void fail(const verdict::Case& call, const char* mistake,
                       std::optional<std::string> location, const std::string& reason) {
  verdict::Failure failure;
  failure.mistake.emplace(mistake);
  failure.location = std::move(location);
  failure.message = "The result is right, but " + reason;
  verdict::session().fail(call, std::move(failure));
}

}  // namespace

Requests requests_of(const verdict::Traffic& traffic, const std::string& buffer,
                     verdict::AccessType type) {
  Requests sum;
  for (const verdict::LineTraffic& line : traffic.lines) {
    if (line.space == verdict::MemorySpace::global && line.buffer == buffer && line.type == type) {
      sum.bytes += line.bytes;
      sum.lanes += line.lanes;
    }
  }
  return sum;
}

void require_loaded_once(const verdict::Case& call, const verdict::Traffic& traffic,
                         const std::string& buffer) {
  const auto element = static_cast<std::int64_t>(verdict::size_of(call.buffer(buffer).dtype));
  const std::int64_t tensor = call.buffer(buffer).rows * call.buffer(buffer).cols * element;
  const double times =
      static_cast<double>(requests_of(traffic, buffer, verdict::AccessType::read).bytes) /
      static_cast<double>(tensor);
  if (times > kOnce) {
    fail(call, "loaded-twice", busiest_line(traffic, buffer, verdict::AccessType::read),
         fmt::format("{} was loaded {:.2g} times over: keep a thread's values of the row where "
                     "they are needed again, in registers (or in shared memory), and load each "
                     "only once.",
                     buffer, times));
  }
}

void require_not_loaded(const verdict::Case& call, const verdict::Traffic& traffic,
                        const std::string& buffer) {
  if (requests_of(traffic, buffer, verdict::AccessType::read).bytes > 0) {
    fail(call, "loaded-twice", busiest_line(traffic, buffer, verdict::AccessType::read),
         fmt::format("{} was stored and then loaded again: keep what a thread needs of it in "
                     "registers (or in shared memory).",
                     buffer));
  }
}

void require_packs(const verdict::Case& call, const verdict::Traffic& traffic,
                   const std::string& buffer, verdict::AccessType type) {
  const double bytes = requests_of(traffic, buffer, type).bytes_per_access();
  if (bytes < kMostlyPacks) {
    const char* const verb = type == verdict::AccessType::read ? "load" : "store";
    fail(call, "narrow-access", busiest_line(traffic, buffer, type),
         fmt::format("{} was {} {:.3g} bytes at a time, in a call whose rows are all aligned to 16 "
                     "bytes: {} packs of 16 bytes there.",
                     buffer, type == verdict::AccessType::read ? "loaded" : "stored", bytes, verb));
  }
}

}  // namespace onepass::common
