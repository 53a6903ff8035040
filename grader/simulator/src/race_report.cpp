#include "race_report.h"

#include <string>

#include "bad_access.h"
#include "device_memory.h"
#include "execution.h"
#include "findings.h"
#include "shared_names.h"
#include "sites.h"
#include "stopping.h"

namespace simulator {
namespace {

std::string participle(AccessType type) {
  switch (type) {
    case AccessType::read:
      return "read";
    case AccessType::write:
      return "written";
    case AccessType::atomic:
      return "updated atomically";
  }
  return "";
}

/// The other party: known by its record alone, for its block may have ended.
Party earlier_party(const AccessRecord& earlier, AccessType type, unsigned bytes) {
  const uint3& shape = now.launch->shape.block;
  const uint3& grid = now.launch->shape.grid;
  Thread thread;
  thread.number = static_cast<std::uint16_t>(earlier.thread());
  thread.lane = static_cast<std::uint8_t>(earlier.thread() % 32);
  thread.index = unflatten(earlier.thread(), shape);
  Party result = party(thread, site_address(earlier.site()), action_text({0, bytes, 1, type, 0}));
  const uint3 block = unflatten(block_of(earlier), grid);
  result.block = {block.x, block.y, block.z};
  return result;
}

std::string what_is_missing(const AccessRecord& earlier) {
  if (block_of(earlier) != now.block->number) {
    return "by threads of two blocks, and nothing orders blocks within a launch";
  }
  if (earlier.warp() == now.thread->number / 32u) {
    return "by two lanes of a warp with no __syncwarp() or __syncthreads() between";
  }
  return "by two threads of a block with no __syncthreads() between";
}

}  // namespace

void report_race(const AccessRecord& earlier, AccessType earlier_type, const Access& access,
                 MemorySpace space) {
  const Kind kind = space == MemorySpace::shared ? Kind::shared_race : Kind::global_race;
  if (!findings().is_first(kind, site_address(earlier.site()), access.site)) return;
  const ReportInProgress guard;
  Finding found{kind, now.launch->kernel, "", false, {}, "", -1};
  std::string element;
  if (space == MemorySpace::shared) {
    const SharedElement shared = shared_element(access.address, access.size);
    element = shared.text;
    found.buffer = shared.variable;
    found.index = shared.index;
  } else {
    const Allocation* memory = device_memory().candidate(access.address);
    element = element_name(*memory, access.address, access.size, found.index);
    found.buffer = memory->label.name;
  }
  found.message = element + " is " + participle(earlier_type) + " and " + participle(access.type) +
                  ' ' + what_is_missing(earlier) + ": which comes first is left to chance.";
  // All threads may write one and the same value, and often do: that harms nobody.
  found.warning = earlier_type == AccessType::write && access.type == AccessType::write &&
                  site_address(earlier.site()) == access.site;
  found.parties = {earlier_party(earlier, earlier_type, access.size),
                   party(*now.thread, access.site, action_text(access))};
  findings().add(std::move(found));
}

}  // namespace simulator
