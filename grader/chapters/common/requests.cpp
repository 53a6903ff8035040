// What a call asked of one tensor.
#include "chapters/common/requests.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "verdict/measure/explain_line.h"

namespace onepass::common {

using verdict::AccessType;

namespace {

constexpr double kOnce = 1.01;  // room for an element or two that are looked at again
constexpr double kAPart = 1.5;  // less is no tensor that was gone through again
constexpr double kUneven = 1.6;
constexpr double kMostlyPacks = 12;  // bytes: 16, but for what is left over at a row's ends
constexpr double kTrifle = 0.125;    // of a tensor's bytes, which a line may move in another way

/// Of all lines that read or write a tensor.
struct Requests {
  double bytes = 0.0;  // of all accesses, those of one element again counted again
  double lanes = 0.0;  // accesses of one thread
  verdict::LineTraffic busiest_line = {};  // of the student's file, if it is known
  std::vector<verdict::LineTraffic> lines = {};
};

double bytes_at_a_time(double bytes, double lanes) {
  return lanes == 0.0 ? 0.0 : bytes / lanes;
}

Requests requests_of(const verdict::Traffic& traffic, const std::string& buffer, AccessType type) {
  Requests sum;
  for (const verdict::LineTraffic& line : traffic.lines) {
    if (line.space == verdict::MemorySpace::global && line.buffer == buffer && line.type == type) {
      sum.bytes += static_cast<double>(line.bytes);
      sum.lanes += static_cast<double>(line.lanes);
      sum.lines.push_back(line);
      if (line.line > 0 && line.lanes >= sum.busiest_line.lanes) {
        sum.busiest_line = line;
      }
    }
  }
  return sum;
}

[[noreturn]] void fail(const verdict::Case& call, const char* mistake, const Requests& requests,
                       const std::string& reason, bool is_right = true) {
  verdict::session().fail(call, {.message = (is_right ? "The result is right, but " : "") + reason,
                                 .mistake = mistake,
                                 .location = verdict::location_of(requests.busiest_line),
                                 .is_right = is_right});
}

}  // namespace

namespace {

/// "7.5 %", "14 %", "100 %".
std::string percent(double share) {
  return fmt::format("{:.{}f} %", 100.0 * share, share < 0.1 ? 1 : 0);
}

/// How many times over the tensor was loaded, or stored.
double times_over(const verdict::Case& call, const Requests& requests, const std::string& buffer) {
  const verdict::Buffer& tensor = call.buffer(buffer);
  return requests.bytes / static_cast<double>(tensor.rows * tensor.cols) /
         static_cast<double>(verdict::size_of(tensor.dtype));
}

}  // namespace

void require_loaded_once(const verdict::Case& call, const verdict::Traffic& traffic,
                         const std::string& buffer, bool is_right) {
  const Requests loads = requests_of(traffic, buffer, AccessType::read);
  const double times = times_over(call, loads, buffer);
  if (times > kAPart) {
    fail(call, "loaded-twice", loads,
         fmt::format("{} was loaded {:.2g} times over: keep a thread's values of the row where "
                     "they are needed again, in registers (or in shared memory), and load each "
                     "only once; ahead of time, too, no row where none is left.",
                     buffer, times),
         is_right);
  }
  if (times > kOnce) {
    fail(call, "loaded-twice", loads,
         fmt::format("a part of {} was loaded again, {} of it in all: load each element only "
                     "once, those at the ends of a row or of a thread's part too.",
                     buffer, percent(times - 1.0)),
         is_right);
  }
}

void require_stored_once(const verdict::Case& call, const verdict::Traffic& traffic,
                         const std::string& buffer) {
  const Requests stores = requests_of(traffic, buffer, AccessType::write);
  const double times = times_over(call, stores, buffer);
  if (times > kOnce) {
    fail(call, "loaded-twice", stores,
         fmt::format("{} was stored {:.3g} times over: store each element only once, when it is "
                     "what it is to be.",
                     buffer, times));
  }
}

void require_loaded_at_most(int most, const verdict::Case& call, const verdict::Traffic& traffic,
                            const std::string& buffer) {
  const Requests loads = requests_of(traffic, buffer, AccessType::read);
  const double times = times_over(call, loads, buffer);
  if (times > most * kOnce) {
    fail(call, "loaded-twice", loads,
         fmt::format("{} was loaded {:.3g} times over, and {} times are enough: keep a thread's "
                     "values of a part in registers, until its mean and its squares are there.",
                     buffer, times, most));
  }
}

void require_blocks(std::int64_t least, const verdict::Case& call, const std::string& tensor) {
  const std::optional<std::int64_t> blocks =
      verdict::session().fewest_blocks_that_read(call, tensor);
  if (blocks && *blocks < least) {
    fail(call, "few-blocks", {},
         fmt::format("{} is read by {} block{} of one launch: most of a GPU's multiprocessors have "
                     "nothing to do. Share the work among {} blocks at least.",
                     tensor, *blocks, *blocks == 1 ? "" : "s", least));
  }
}

void require_shared_rows(std::int64_t least, const verdict::Case& call, const std::string& tensor,
                         std::int64_t row) {
  // Who cuts it into whole pieces may have one block take somewhat more than another.
  const double share = verdict::session().share_of_first_block(call, tensor, row);
  if (share * static_cast<double>(least) > kUneven) {
    fail(call, "few-blocks", {},
         fmt::format("one block reads {} of a channel's {} elements of {}, and no other channel: "
                     "share a channel among {} blocks at least, however many channels there are.",
                     percent(share), row, tensor, least));
  }
}

void require_not_loaded(const verdict::Case& call, const verdict::Traffic& traffic,
                        const std::string& buffer) {
  const Requests loads = requests_of(traffic, buffer, AccessType::read);
  if (loads.bytes > 0.0) {
    fail(call, "loaded-twice", loads,
         fmt::format("{} was stored and then loaded again: keep what a thread needs of it in "
                     "registers (or in shared memory).",
                     buffer));
  }
}

void require_packs(const verdict::Case& call, const verdict::Traffic& traffic,
                   const std::string& buffer, AccessType type, bool is_right) {
  Requests requests = requests_of(traffic, buffer, type);
  const verdict::Buffer& tensor = call.buffer(buffer);
  const double all = static_cast<double>(tensor.rows * tensor.cols) *
                     static_cast<double>(verdict::size_of(tensor.dtype));
  double bytes = bytes_at_a_time(requests.bytes, requests.lanes);
  // Of several kernels each takes packs: one must not hide behind the others' average.
  for (const verdict::LineTraffic& line : requests.lines) {
    const auto moved = static_cast<double>(line.bytes);
    const double at_a_time = bytes_at_a_time(moved, static_cast<double>(line.lanes));
    if (moved > kTrifle * all && at_a_time < bytes) {
      bytes = at_a_time;
      requests.busiest_line = line;
    }
  }
  if (bytes < kMostlyPacks) {
    const bool read = type == AccessType::read;
    const std::optional<std::string> advice = verdict::pack_advice(requests.busiest_line);
    fail(call, "narrow-access", requests,
         fmt::format("{} was {} {:.3g} bytes at a time, in a call whose rows are all aligned to 16 "
                     "bytes: {} packs of 16 bytes there.{}",
                     buffer, read ? "loaded" : "stored", bytes, read ? "load" : "store",
                     advice ? "\n" + *advice : ""),
         is_right);
  }
}

}  // namespace onepass::common
