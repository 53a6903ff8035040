#include "traffic/traffic_counter.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "memory/names.h"
#include "source/source_lines.h"

namespace simulator {
namespace {

/// The sums of two places at one line; `into` keeps its file, line and buffer.
void add_line(LineTraffic& into, const LineTraffic& other) {
  if (other.units * into.requests > into.units * other.requests) {
    into.lane_bytes = other.lane_bytes;
    into.lane_distance = other.lane_distance;
  }
  into.requests += other.requests;
  into.lanes += other.lanes;
  into.bytes += other.bytes;
  into.units += other.units;
  into.least_units += other.least_units;
}

}  // namespace

/// What holds the address: a Part, a SharedVariable, or nullptr for dynamic shared memory.
const void* TrafficCounter::buffer_at(MemorySpace space, std::uintptr_t address) const {
  if (space == MemorySpace::global) return &memory_.device.candidate(address)->part_at(address);
  return memory_.shared.variable_at(home(space, address));
}

/// Of another block's shared memory: the place in this block's own.
std::uintptr_t TrafficCounter::home(MemorySpace space, std::uintptr_t address) const {
  return space == MemorySpace::distributed ? memory_.shared.home(address) : address;
}

std::uintptr_t TrafficCounter::begin_of(MemorySpace space, const void* buffer) const {
  if (space == MemorySpace::global) return static_cast<const Part*>(buffer)->begin;
  if (buffer == nullptr) return memory_.shared.dynamic_begin();
  return memory_.shared.static_begin() + static_cast<const SharedVariable*>(buffer)->begin;
}

TrafficCounter::Site& TrafficCounter::site_of(const RequestOrigin& origin, std::uintptr_t address) {
  const void* const buffer = buffer_at(origin.space, address);
  for (Site& known : sites_) {
    if (known.site == origin.site && known.buffer == buffer && known.sum.space == origin.space) {
      return known;
    }
  }
  Site& fresh = sites_.emplace_back();
  fresh.site = origin.site;
  fresh.buffer = buffer;
  fresh.sum.space = origin.space;
  fresh.sum.type = origin.type;
  fresh.sum.is_bulk = origin.is_bulk;
  if (origin.space == MemorySpace::global) {
    const Allocation& memory = *memory_.device.candidate(address);
    fresh.sum.buffer = static_cast<const Part*>(buffer)->label.name;
    fresh.touched = SectorSet(memory.size);  // what follows a part's last row is told of it too
    fresh.first_sector = memory.begin / kSectorBytes;
  } else {
    fresh.sum.buffer = shared_element(memory_.shared, home(origin.space, address), 1).buffer;
  }
  return fresh;
}

void TrafficCounter::add(Site& site, const MemoryRequest& request, const RequestCost& cost) {
  LineTraffic& sum = site.sum;
  sum.requests += 1;
  sum.lanes += static_cast<unsigned>(__builtin_popcount(request.lanes));
  sum.bytes += cost.bytes;
  sum.units += cost.units;
  sum.least_units += cost.least_units;
  if (cost.units > site.costliest) {
    site.costliest = cost.units;
    sum.lane_bytes = request.bytes;
    sum.lane_distance = lane_distance(request);
  }
}

void TrafficCounter::keep(const RequestOrigin& origin, const Site& site,
                          const MemoryRequest& request, const RequestCost& cost) {
  TracedRequest kept;
  kept.block = origin.block;
  kept.warp = origin.warp;
  kept.step = request.order;
  kept.line = static_cast<int>(&site - sites_.data());  // becomes the line's number at the end
  kept.lanes = request.lanes;
  kept.bytes = request.bytes;
  kept.units = cost.units;
  kept.least_units = cost.least_units;
  const std::uintptr_t begin = begin_of(site.sum.space, site.buffer);
  for (unsigned left = request.lanes; left != 0; left &= left - 1) {
    const int lane = __builtin_ctz(left);
    const std::uintptr_t address = home(site.sum.space, request.address[lane]);
    kept.offsets.push_back(static_cast<std::int64_t>(address - begin));
  }
  traced_.push_back(std::move(kept));
}

/// The lanes of a request to global memory that have the same buffer as its first one.
unsigned TrafficCounter::lanes_of_first_buffer(const MemoryRequest& request) const {
  const Allocation& memory = *memory_.device.candidate(request.first_address());
  const Part& buffer = memory.part_at(request.first_address());
  unsigned lanes = request.lanes & -request.lanes;
  for (unsigned left = request.lanes; left != 0; left &= left - 1) {
    const std::uintptr_t address = request.address[__builtin_ctz(left)];
    const bool same = memory.contains(address, 1) && &memory.part_at(address) == &buffer;
    if (same) lanes |= left & -left;
  }
  return lanes;
}

void TrafficCounter::count(const RequestOrigin& origin, const MemoryRequest* requests,
                           std::size_t number) {
  Site* site = nullptr;
  for (std::size_t i = 0; i < number; ++i) {
    const MemoryRequest& request = requests[i];
    const bool is_global = origin.space == MemorySpace::global;
    const unsigned lanes = is_global ? lanes_of_first_buffer(request) : request.lanes;
    if (lanes == request.lanes) {
      count_in_buffer(origin, request, site);
    } else {
      count_by_buffer(origin, request, site);
    }
  }
}

void TrafficCounter::count_by_buffer(const RequestOrigin& origin, MemoryRequest rest, Site*& site) {
  while (rest.lanes != 0) {
    MemoryRequest of_buffer = rest;
    of_buffer.lanes = lanes_of_first_buffer(rest);
    rest.lanes &= ~of_buffer.lanes;
    count_in_buffer(origin, of_buffer, site);
  }
}

void TrafficCounter::count_in_buffer(const RequestOrigin& origin, const MemoryRequest& request,
                                     Site*& site) {
  const std::uintptr_t address = request.first_address();
  if (site == nullptr || site->buffer != buffer_at(origin.space, address)) {
    site = &site_of(origin, address);
  }
  Sectors sectors;
  const RequestCost cost = origin.space == MemorySpace::shared
                               ? shared_cost(request, origin.type == AccessType::read)
                           : origin.type == AccessType::atomic ? atomic_cost(request, sectors)
                                                               : global_cost(request, sectors);
  add(*site, request, cost);
  for (int k = 0; origin.space == MemorySpace::global && k < sectors.count; ++k) {
    site->touched.insert(sectors.number[k] - site->first_sector);
  }
  if (traced_.size() < most_traced_) keep(origin, *site, request, cost);
}

void TrafficCounter::count_distinct(LaunchTraffic& traffic) const {
  std::map<const void*, SectorSet> read, written;  // by buffer
  for (const Site& site : sites_) {
    if (site.sum.space != MemorySpace::global) continue;
    if (site.sum.type != AccessType::write) read[site.buffer].insert_all(site.touched);
    if (site.sum.type != AccessType::read) written[site.buffer].insert_all(site.touched);
  }
  for (const auto& [buffer, sectors] : read) traffic.read_sectors += sectors.count();
  for (const auto& [buffer, sectors] : written) traffic.written_sectors += sectors.count();
}

void TrafficCounter::finish(LaunchTraffic& traffic, std::vector<TracedRequest>& trace) {
  traffic.read_bytes = read_bytes_;
  traffic.written_bytes = written_bytes_;
  count_distinct(traffic);

  using Key = std::tuple<std::string, int, std::string, int, std::string, MemorySpace, AccessType>;
  struct Line {
    LineTraffic sum;
    SectorSet touched;
    int number = 0;
  };
  std::map<Key, Line> lines;
  std::vector<Line*> line_of_site;
  for (Site& site : sites_) {
    const SourceLine& source = source_line(site.site);
    site.sum.file = source.file;
    site.sum.line = source.line;
    site.sum.caller_file = source.caller_file;
    site.sum.called_from = source.caller_file.empty() ? 0 : source.called_from;
    Line& line = lines[{source.file, source.line, site.sum.caller_file, site.sum.called_from,
                        site.sum.buffer, site.sum.space, site.sum.type}];
    if (line.sum.requests == 0) {
      line.sum = site.sum;
    } else {
      add_line(line.sum, site.sum);
    }
    if (site.sum.space == MemorySpace::global) line.touched.insert_all(site.touched);
    line_of_site.push_back(&line);
  }
  for (auto& [key, line] : lines) {
    line.number = static_cast<int>(traffic.lines.size());
    line.sum.distinct_sectors = line.touched.count();
    traffic.lines.push_back(line.sum);
  }
  for (TracedRequest& request : traced_) {
    request.line = line_of_site[static_cast<std::size_t>(request.line)]->number;
  }
  std::sort(traced_.begin(), traced_.end(), [](const TracedRequest& a, const TracedRequest& b) {
    return std::tie(a.block, a.warp, a.step) < std::tie(b.block, b.warp, b.step);
  });
  trace = std::move(traced_);
}

}  // namespace simulator
