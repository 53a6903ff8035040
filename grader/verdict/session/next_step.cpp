#include "verdict/session/next_step.h"

#include <fmt/format.h>

#include <algorithm>

#include "verdict/contract/call.h"
#include "verdict/measure/explain_line.h"

namespace onepass::verdict {
namespace {

constexpr double kTrifle = 0.01;  // of the least

/// Of all lines that have an access in common.
struct Sum {
  double sectors = 0.0;  // that are asked for
  double filled = 0.0;   // by the bytes that are
  double counted = 0.0;
  const LineTraffic* busiest = nullptr;  // in a file that is known
};

struct Cause {
  double sectors = 0.0;  // that it costs
  std::string sentence;
  const LineTraffic* line = nullptr;
};

bool is_large(const std::string& buffer, const std::map<Access, double>& least) {
  return std::any_of(least.begin(), least.end(),
                     [&](const auto& one) { return one.first.first == buffer; });
}

std::map<Access, Sum> sums_of(const Case& call, const Traffic& traffic,
                              const std::map<Access, double>& least) {
  std::map<Access, Sum> sums;
  for (const LineTraffic& line : traffic.lines) {
    if (const double counted = counted_sectors(call, line, least); counted > 0.0) {
      Sum& sum = sums[{line.buffer, line.type}];
      sum.sectors += static_cast<double>(line.units);
      sum.filled += static_cast<double>(line.bytes) / kSectorBytes;
      sum.counted += counted;
      if (line.line > 0 && (sum.busiest == nullptr || line.units > sum.busiest->units)) {
        sum.busiest = &line;
      }
    }
  }
  return sums;
}

std::string why_spread(const Access& access, const Sum& sum, const Traffic& traffic) {
  const auto told = sum.busiest == nullptr
                        ? std::nullopt
                        : advice(*sum.busiest, traffic.requested_bytes / kSectorBytes, 0);
  return told.value_or(fmt::format(
      "{} {} moves {:.3g} times the sectors that its bytes fill: let neighbouring lanes take "
      "neighbouring elements, and a warp begin at a multiple of 32 bytes.",
      access.second == AccessType::read ? "loading" : "storing", access.first,
      sum.sectors / sum.filled));
}

/// Of a large tensor that has to be read or written.
std::vector<Cause> causes_in(const Access& access, const Sum& sum, const Traffic& traffic,
                             double least, double loads) {
  const bool is_read = access.second == AccessType::read;
  const double enough = is_read ? loads : 1.0;
  std::vector<Cause> causes = {
      {sum.sectors - sum.filled, why_spread(access, sum, traffic), sum.busiest}};
  const std::string times =
      fmt::format("{:.2g} times over{}", sum.filled / least,
                  enough == 1.0 ? "" : fmt::format(", and {:g} would do", enough));
  causes.push_back(
      {sum.filled - enough * least,
       is_read ? fmt::format("{} is loaded {}: keep what is needed of it again in registers, or in "
                             "shared memory.",
                             access.first, times)
               : fmt::format("{} is stored {}: store each element once.", access.first, times),
       sum.busiest});
  return causes;
}

/// Of any other memory: all that counts is too much.
std::string why_needless(const Case& call, const Access& access, bool is_of_large, const Sum& sum) {
  const auto& [buffer, type] = access;
  if (contract::is_scratch(call, buffer)) {
    const double times = sum.filled / (sum.filled - sum.counted);
    const std::string over =
        times < 10.0 ? fmt::format("{:.2g}", times) : fmt::format("{:.0f}", times);
    if (type == AccessType::atomic) {
      return fmt::format(
          "{} is updated atomically, {} times over: let each block come to it once, with the sums "
          "of all its rows, and fewer blocks have more rows each.",
          buffer, over);
    }
    return fmt::format(
        "{} is {} {} times over: keep sums in registers, or in shared memory, from the first row "
        "to the last, and let each come to it once, and from it once.",
        buffer, type == AccessType::read ? "loaded" : "stored", over);
  }
  if (!is_of_large) {
    return fmt::format(
        "{}, memory that no caller has given, counts too: keep in registers, or in shared memory, "
        "what it holds.",
        buffer);
  }
  return type == AccessType::atomic
             ? fmt::format("{} is updated atomically: add up in registers, and store once.", buffer)
             : fmt::format(
                   "{} is an output, and loaded: keep what is needed of it in registers, or "
                   "in shared memory.",
                   buffer);
}

}  // namespace

double counted_sectors(const Case& call, const LineTraffic& line,
                       const std::map<Access, double>& least) {
  if (line.space != MemorySpace::global) {
    return 0.0;
  }
  if (contract::is_scratch(call, line.buffer)) {
    const double filled = static_cast<double>(line.bytes) / kSectorBytes;
    return std::max(0.0, filled - static_cast<double>(line.distinct_sectors));
  }
  const bool is_small =
      !is_large(line.buffer, least) && contract::tensor_of(call, line.buffer) != nullptr;
  return is_small ? 0.0 : static_cast<double>(line.units);
}

NextStep next_step(const Case& call, const Traffic& traffic, const std::map<Access, double>& least,
                   double loads) {
  double all_least = 0.0;
  for (const auto& [access, sectors] : least) {
    all_least += sectors;
  }
  Cause worst = {kTrifle * all_least, "", nullptr};
  for (const auto& [access, sum] : sums_of(call, traffic, least)) {
    const auto needed = least.find(access);
    const std::vector<Cause> causes =
        needed != least.end()
            ? causes_in(access, sum, traffic, needed->second, loads)
            : std::vector<Cause>{{sum.counted,
                                  why_needless(call, access, is_large(access.first, least), sum),
                                  sum.busiest}};
    for (const Cause& cause : causes) {
      if (cause.sectors > worst.sectors) {
        worst = cause;
      }
    }
  }
  NextStep step = {.sentence = worst.sentence, .location = std::nullopt};
  if (worst.line != nullptr) {
    step.location = location_of(*worst.line);
  }
  return step;
}

}  // namespace onepass::verdict
