#include "traffic/memory_request.h"

#include <algorithm>

namespace simulator {
namespace {

unsigned round_up_divide(unsigned a, unsigned b) {
  return (a + b - 1) / b;
}

/// The active lanes' addresses in rising order.
struct SortedAddresses {
  explicit SortedAddresses(const MemoryRequest& request) {
    bool rises = true;
    for (unsigned left = request.lanes; left != 0; left &= left - 1) {
      const std::uintptr_t next = request.address[__builtin_ctz(left)];
      rises = rises && (count == 0 || address[count - 1] <= next);
      address[count++] = next;
    }
    if (!rises) std::sort(address, address + count);
  }
  std::uintptr_t address[kWarpLanes];
  int count = 0;
};

/// Bytes that differ, for two lanes may want the same ones.
unsigned distinct_bytes(const SortedAddresses& sorted, unsigned bytes) {
  unsigned sum = bytes;
  for (int i = 1; i < sorted.count; ++i) {
    const std::uintptr_t step = sorted.address[i] - sorted.address[i - 1];
    sum += step < bytes ? static_cast<unsigned>(step) : bytes;
  }
  return sum;
}

/// Of what distinct_bytes() counts: what no lane reads, for a copy's end is filled with zeros.
unsigned unread_bytes(const MemoryRequest& request) {
  unsigned sum = 0;
  for (unsigned left = request.lanes & request.short_lanes; left != 0; left &= left - 1) {
    const int lane = __builtin_ctz(left);
    bool is_counted = false;  // or read, by another lane: copies that overlap begin at one address
    for (unsigned others = request.lanes & ~(1u << lane); others != 0; others &= others - 1) {
      const int other = __builtin_ctz(others);
      is_counted = is_counted || (request.address[other] == request.address[lane] &&
                                  (other < lane || (request.short_lanes >> other & 1) == 0));
    }
    sum += is_counted ? 0 : request.unread[lane];
  }
  return sum;
}

void list_sectors(const SortedAddresses& sorted, unsigned bytes, Sectors& sectors) {
  std::uintptr_t next = 0;  // the first sector that is not in the list yet
  for (int i = 0; i < sorted.count; ++i) {
    const std::uintptr_t last = (sorted.address[i] + bytes - 1) / kSectorBytes;
    if (last < next) continue;
    next = std::max(sorted.address[i] / kSectorBytes, next);
    for (; next <= last; ++next) sectors.number[sectors.count++] = next;
  }
}

/// The usual case, which is worth a short way: 32 lanes, each right behind the one before.
bool is_side_by_side(const MemoryRequest& request) {
  if (request.lanes != ~0u) return false;
  std::uintptr_t differ = 0;
  for (unsigned lane = 0; lane < kWarpLanes; ++lane) {
    differ |= request.address[lane] ^ (request.address[0] + lane * request.bytes);
  }
  return differ == 0;
}

/// True if lanes i and i ^ distance want the same, or at most one of them takes part; distance is 1
/// or 2.
bool partners_agree(const MemoryRequest& request, int distance) {
  const unsigned lower = distance == 1 ? 0x55555555u : 0x33333333u;  // of each two partners
  for (unsigned left = request.lanes & request.lanes >> distance & lower; left != 0;
       left &= left - 1) {
    const int lane = __builtin_ctz(left);
    if (request.address[lane] != request.address[lane + distance]) return false;
  }
  return true;
}

/// To how many lanes shared memory is served at a time.
int lanes_at_once(const MemoryRequest& request, bool is_load) {
  if (request.bytes <= 4) return kWarpLanes;
  const int lanes = request.bytes <= 8 ? kWarpLanes / 2 : kWarpLanes / 4;
  const bool agree = partners_agree(request, 1) || partners_agree(request, 2);
  return is_load && agree ? 2 * lanes : lanes;
}

/// Wavefronts for the lanes of `request` that are in `group`.
unsigned wavefronts(const MemoryRequest& request, unsigned group) {
  std::uintptr_t words[kWarpLanes * 16 / kBankBytes];
  int count = 0;
  for (unsigned left = request.lanes & group; left != 0; left &= left - 1) {
    const std::uintptr_t address = request.address[__builtin_ctz(left)];
    const std::uintptr_t last = (address + request.bytes - 1) / kBankBytes;
    for (std::uintptr_t word = address / kBankBytes; word <= last; ++word) words[count++] = word;
  }
  std::sort(words, words + count);
  unsigned in_bank[kBanks] = {};
  const auto* end = std::unique(words, words + count);
  for (const auto* word = words; word != end; ++word) ++in_bank[*word % kBanks];
  return *std::max_element(in_bank, in_bank + kBanks);
}

}  // namespace

RequestCost global_cost(const MemoryRequest& request, Sectors& sectors) {
  RequestCost cost;
  if (is_side_by_side(request)) {
    cost.bytes = kWarpLanes * request.bytes;
    const std::uintptr_t end = (request.address[0] + cost.bytes - 1) / kSectorBytes + 1;
    for (std::uintptr_t next = request.address[0] / kSectorBytes; next < end; ++next) {
      sectors.number[sectors.count++] = next;
    }
  } else {
    const SortedAddresses sorted(request);
    cost.bytes = distinct_bytes(sorted, request.bytes);
    list_sectors(sorted, request.bytes, sectors);
  }
  if (request.short_lanes != 0) cost.bytes -= unread_bytes(request);
  cost.units = static_cast<unsigned>(sectors.count);
  cost.least_units = round_up_divide(cost.bytes, kSectorBytes);
  return cost;
}

RequestCost atomic_cost(const MemoryRequest& request, Sectors& sectors) {
  RequestCost cost = global_cost(request, sectors);
  const SortedAddresses sorted(request);
  cost.units = 0;
  unsigned same = 0, most = 0;  // lanes at one address; the most of them in the present sector
  for (int i = 0; i < sorted.count; ++i) {
    const std::uintptr_t address = sorted.address[i];
    same = i > 0 && sorted.address[i - 1] == address ? same + 1 : 1;
    most = std::max(most, same);
    if (i + 1 == sorted.count || sorted.address[i + 1] / kSectorBytes != address / kSectorBytes) {
      cost.units += most;
      most = 0;
    }
  }
  return cost;
}

RequestCost shared_cost(const MemoryRequest& request, bool is_load) {
  RequestCost cost;
  cost.bytes = distinct_bytes(SortedAddresses(request), request.bytes);
  const int lanes = lanes_at_once(request, is_load);
  for (int first = 0; first < kWarpLanes; first += lanes) {
    const unsigned group = (lanes == kWarpLanes ? ~0u : (1u << lanes) - 1) << first;
    cost.units += wavefronts(request, group);
  }
  cost.least_units = round_up_divide(cost.bytes, kBanks * kBankBytes);
  return cost;
}

std::int64_t lane_distance(const MemoryRequest& request) {
  std::int64_t distance = 0;
  int lane = __builtin_ctz(request.lanes);
  for (unsigned left = request.lanes & (request.lanes - 1); left != 0; left &= left - 1) {
    const int next = __builtin_ctz(left);
    const auto step = static_cast<std::int64_t>(request.address[next] - request.address[lane]);
    if (next != lane + 1 || (distance != 0 && step != distance) || step == 0) return 0;
    distance = step;
    lane = next;
  }
  return distance;
}

}  // namespace simulator
