// Asynchronous copies: what they move, and when. They land as late as they may; what that is for
// says copies/copies.h.
#include "access/async_copies.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "access/access.h"
#include "onepass_simulator/device_calls.h"
#include "scheduling/landing.h"
#include "scheduling/stopping.h"

namespace simulator {
namespace {

/// The hardware's waits leave at most so many batches under way.
constexpr std::size_t kMostLeft = 8;

[[noreturn]] void refuse(Launch& launch, CodeAddress site, const std::string& why) {
  const Findings::Writing writing(launch.machine.findings);
  stop_with(launch, Kind::invalid_copy, site,
            why + " The hardware copies 4, 8 or 16 bytes from global to shared memory.",
            "begins to copy", kErrorIllegalInstruction);
}

/// Is there such a copy? Whether its addresses are right, the checkers say.
void check_size(Launch& launch, CodeAddress site, std::size_t size, std::size_t zeros,
                std::size_t only) {
  const bool has_size = size == 4 || size == 8 || size == 16;
  if (has_size && (only == 0 || size == only) && zeros <= size) return;
  const std::string copy = "An asynchronous copy of " + std::to_string(size) + " bytes";
  if (!has_size) refuse(launch, site, copy + '.');
  if (only != 0 && size != only) {
    refuse(launch, site,
           copy + " by cp.async.cg, which takes " + std::to_string(only) +
               ": cp.async.ca takes fewer.");
  }
  const std::size_t read = size - zeros;  // beyond the size: PTX says how many are read
  refuse(launch, site,
         copy + (read > size && read < zeros
                     ? " that is to read " + std::to_string(read) + '.'
                     : " of which " + std::to_string(zeros) + " are to be zero."));
}

void check_direction(Launch& launch, const AsyncCopy& copy) {
  if (is_remote(copy.to_place)) {
    refuse(launch, copy.to.site, "An asynchronous copy to shared memory of another block.");
  }
  if (!is_shared(copy.to_place)) {
    refuse(launch, copy.to.site, "An asynchronous copy to what is no shared memory.");
  }
  if (!is_from_global(launch, copy)) {
    refuse(launch, copy.to.site, "An asynchronous copy from what is no global memory.");
  }
}

void begin_own(Launch& launch, const AsyncCopy& copy) {
  if (launch.checkers.is_ahead(copy.thread)) let_warp_catch_up(launch);
  begin(launch, copies_of(launch).begin(copy));
}

}  // namespace

bool is_shared(const Place& place) {
  return place.area == Area::outside_shared ||
         (place.area == Area::inside && place.space == MemorySpace::shared);
}

bool is_from_global(const Launch& launch, const AsyncCopy& copy) {
  return !is_shared(copy.from_place) && !launch.thread->stack.contains(copy.from.address);
}

AsyncCopy copy_of(Launch& launch, void* to, const void* from, unsigned size, unsigned zeros,
                  CodeAddress site) {
  AsyncCopy copy;  // not all zeros first: millions of them begin
  copy.thread = launch.thread->number;
  copy.block = launch.block->number;
  copy.from = {reinterpret_cast<std::uintptr_t>(from), size, size, AccessType::read, site};
  // Sizes are powers of two, and to divide would take longer than all else here.
  if ((copy.from.address & (size - 1)) == 0) copy.from.size -= zeros;
  copy.to = {reinterpret_cast<std::uintptr_t>(to), size, size, AccessType::write, site};
  copy.from_place = place_of(launch, copy.from);
  copy.to_place = place_of(launch, copy.to);
  copy.when = launch.checkers.time_stamp(copy.thread, copy.to);
  return copy;
}

void begin(Launch& launch, const AsyncCopy& begun) {
  tell_or_stop(launch, CopyBegin{&begun});
  std::memset(reinterpret_cast<void*>(begun.to.address), kNoUsefulNumber, begun.to.size);
}

CopyQueue& copies_of(Launch& launch) {
  std::vector<CopyQueue>& queues = launch.block->copies;
  if (queues.empty()) queues.resize(launch.block->threads.size());
  return queues[launch.thread->number];
}

void enter(Launch& launch, CodeAddress site) {
  obey_stop(launch, site);
  launch.thread->last_site = site;
}

void async_copy(void* to, const void* from, std::size_t size, std::size_t zeros, std::size_t only) {
  Launch* launch = launch_of_kernel();
  if (launch == nullptr) return;
  const auto site = reinterpret_cast<CodeAddress>(__builtin_return_address(0));
  enter(*launch, site);
  check_size(*launch, site, size, zeros, only);
  const AsyncCopy copy =
      copy_of(*launch, to, from, static_cast<unsigned>(size), static_cast<unsigned>(zeros), site);
  check_direction(*launch, copy);
  begin_own(*launch, copy);
}

bool async_piece(void* to, const void* from, std::size_t size) {
  Launch* launch = launch_of_kernel();
  if (launch == nullptr) return false;
  const auto site = reinterpret_cast<CodeAddress>(__builtin_return_address(0));
  enter(*launch, site);
  const AsyncCopy copy = copy_of(*launch, to, from, static_cast<unsigned>(size), 0, site);
  if (!is_shared(copy.to_place) || is_remote(copy.to_place)) return false;
  if (!is_from_global(*launch, copy)) return false;
  begin_own(*launch, copy);
  return true;
}

void commit_copies() {
  if (Launch* launch = launch_of_kernel()) copies_of(*launch).commit();
}

void wait_for_copies(std::size_t prior) {
  Launch* launch = launch_of_kernel();
  if (launch == nullptr) return;
  const auto site = reinterpret_cast<CodeAddress>(__builtin_return_address(0));
  enter(*launch, site);
  copies_of(*launch).wait(std::min(prior, kMostLeft), site,
                          [&](const AsyncCopy& copy) { land(*launch, copy); });
}

}  // namespace simulator
