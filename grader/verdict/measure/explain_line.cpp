#include "verdict/measure/explain_line.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <numeric>

namespace onepass::verdict {
namespace {

constexpr double kWasteful = 1.5;        // times the least: a misaligned row costs 1.25
constexpr double kSmallPart = 0.02;      // of the call
constexpr std::int64_t kFewLanes = 8;    // of a request
constexpr std::int64_t kPackBytes = 16;  // the widest access
constexpr std::int64_t kBankBytes = 4;
constexpr std::int64_t kBanks = 32;

bool is_shared(const LineTraffic& line) {
  return line.space == MemorySpace::shared;
}

double ratio(std::int64_t a, std::int64_t b) {
  return b == 0 ? 0.0 : static_cast<double>(a) / static_cast<double>(b);
}

/// "32", "4.5"
std::string per_request(const LineTraffic& line, std::int64_t units) {
  const double value = ratio(units, line.requests);
  return fmt::format("{:.{}f}", value, value == static_cast<double>(std::llround(value)) ? 0 : 1);
}

std::string why_many_sectors(const LineTraffic& line) {
  if (const auto packs = pack_advice(line)) {
    return *packs;
  }
  const std::int64_t step = std::abs(line.lane_distance);
  if (step > line.lane_bytes) {
    return fmt::format(
        "Neighbouring lanes are {} bytes apart, so that each needs a sector of its own or shares "
        "it with few: let lane i take element i, and the addresses of a warp lie side by side.",
        step);
  }
  return "The addresses of a warp's lanes are scattered: let neighbouring lanes take neighbouring "
         "elements.";
}

std::string why_many_wavefronts(const LineTraffic& line) {
  const std::int64_t step = std::abs(line.lane_distance);
  if (step == 0 || step % kBankBytes != 0) {
    return "Several lanes want different words of one bank.";
  }
  const std::int64_t banks = kBanks / std::gcd(step / kBankBytes, kBanks);
  return fmt::format(
      "Neighbouring lanes are {} bytes apart, so that all 32 meet in {} of the 32 banks: a row "
      "that is one word longer spreads them.",
      step, banks == 1 ? "one" : fmt::format("{}", banks));
}

}  // namespace

std::string action(const LineTraffic& line) {
  const std::string buffer =
      line.buffer + (line.space == MemorySpace::distributed ? " of another block" : "");
  if (line.type == AccessType::atomic) {
    return fmt::format("updates {} atomically", buffer);
  }
  return fmt::format("{} {}", line.type == AccessType::read ? "reads" : "writes", buffer);
}

std::optional<std::string> pack_advice(const LineTraffic& line) {
  const std::int64_t step = std::abs(line.lane_distance);
  if (step <= line.lane_bytes || step > kPackBytes || kPackBytes % step != 0 ||
      line.type == AccessType::atomic) {
    return std::nullopt;
  }
  const char* const what_to_do =
      line.type == AccessType::read
          ? "Each lane loads its pack of {} bytes element by element: copy it whole into a "
            "variable, by one assignment (a reference is no copy), and take the elements from "
            "there."
          : "Each lane stores its pack of {} bytes element by element: fill a variable, and store "
            "that whole, by one assignment.";
  return fmt::format(fmt::runtime(what_to_do), step);
}

std::optional<std::string> advice(const LineTraffic& line, std::int64_t requested_sectors,
                                  std::int64_t wavefronts) {
  const std::int64_t total = is_shared(line) ? wavefronts : requested_sectors;
  if (ratio(line.units, total) < kSmallPart || line.space == MemorySpace::distributed) {
    return std::nullopt;  // lanes that send to several blocks have no neighbouring addresses
  }
  const char* unit = is_shared(line) ? "wavefronts" : "sectors";
  if (ratio(line.units, line.least_units) >= kWasteful) {
    return fmt::format("{}: {} {} a request where {} would do. {}", action(line),
                       per_request(line, line.units), unit, per_request(line, line.least_units),
                       is_shared(line) ? why_many_wavefronts(line) : why_many_sectors(line));
  }
  if (!is_shared(line) && ratio(line.lanes, line.requests) < kFewLanes &&
      ratio(line.bytes, line.units * kSectorBytes) * kWasteful < 1) {
    return fmt::format(
        "{}: {} of 32 lanes a request, and {:.0f} of each 32 bytes moved are used. Let the lanes "
        "of a warp work on one row together.",
        action(line), per_request(line, line.lanes), ratio(line.bytes, line.units));
  }
  return std::nullopt;
}

}  // namespace onepass::verdict
