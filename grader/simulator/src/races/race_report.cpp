#include "races/race_report.h"

#include <utility>

#include "access/bad_access.h"
#include "findings/findings.h"
#include "memory/device_memory.h"
#include "memory/shared_names.h"
#include "races/between.h"
#include "scheduling/execution.h"
#include "scheduling/stopping.h"
#include "source/sites.h"

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

/// "written and read", "written twice"
std::string participles(AccessType first, AccessType second) {
  return participle(first) +
         (first == second ? std::string(" twice") : " and " + participle(second));
}

Reach reach_within_block(unsigned thread, unsigned other) {
  return thread / 32 == other / 32 ? Reach::warp : Reach::block;
}

std::string missing_between(unsigned thread, unsigned other) {
  return reach_within_block(thread, other) == Reach::warp
             ? "by two lanes of a warp with no __syncwarp() or __syncthreads() between"
             : "by two threads of a block with no __syncthreads() between";
}

std::string with_note(std::string message, const std::string& note) {
  return std::move(message) + ": which comes first is left to chance." +
         (note.empty() ? "" : ' ' + note);
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

/// Names the memory in the finding; its text, "partial[1]".
std::string name_element(Finding& found, std::uintptr_t address, unsigned size, MemorySpace space) {
  if (space == MemorySpace::shared) {
    const SharedElement shared = shared_element(address, size);
    found.buffer = shared.variable;
    found.index = shared.index;
    return shared.text;
  }
  const Allocation* memory = device_memory().candidate(address);
  found.buffer = memory->label.name;
  return element_name(*memory, address, size, found.index);
}

/// An atomic on another word that would order the two blocks, were there a fence before it.
std::string about_atomics(const AccessRecord& earlier, const Access& access) {
  const std::uintptr_t word = word_without_fence(earlier, *now.block);
  return word == 0 || word == access.address ? ""
                                             : "Both blocks use one word atomically in between, "
                                               "but without a __threadfence() before "
                                               "it other blocks may see the atomic first.";
}

std::string relation(const AccessRecord& earlier, const Access& access) {
  const Block& block = *now.block;
  const Thread& thread = *now.thread;
  if (block_of(earlier) == block.number) {
    return with_note(
        missing_between(earlier.thread(), thread.number),
        what_lies_between({block.threads[earlier.thread()], site_address(earlier.site())},
                          {thread, access.site}, block));
  }
  return with_note("by threads of two blocks, and nothing orders blocks within a launch",
                   about_atomics(earlier, access));
}

}  // namespace

void report_race(const AccessRecord& earlier, AccessType earlier_type, const Access& access,
                 MemorySpace space) {
  const Kind kind = space == MemorySpace::shared ? Kind::shared_race : Kind::global_race;
  const CodeAddress site = site_address(earlier.site());
  const Reach reach = block_of(earlier) == now.block->number
                          ? reach_within_block(earlier.thread(), now.thread->number)
                          : Reach::grid;
  if (!findings().is_first(kind, site, access.site, reach)) return;
  const ReportInProgress guard;
  Finding found{kind, now.launch->kernel, "", false, {}, "", -1};
  found.message = name_element(found, access.address, access.size, space) + " is " +
                  participles(earlier_type, access.type) + ' ' + relation(earlier, access);
  // All threads may write one and the same value, and often do: that harms nobody.
  found.warning = earlier_type == AccessType::write && access.type == AccessType::write &&
                  source_line(site) == source_line(access.site);
  found.parties = {earlier_party(earlier, earlier_type, access.size),
                   party(*now.thread, access.site, action_text(access))};
  findings().add(std::move(found));
}

void report_early_read(const UninitialisedRead& read, const Access& write) {
  const Block& block = *now.block;
  const Thread& reader = block.threads[read.thread];
  const Thread& writer = *now.thread;
  const Reach reach = reach_within_block(reader.number, writer.number);
  if (!findings().is_first(Kind::shared_race, read.site, write.site, reach)) return;
  const ReportInProgress guard;
  Finding found{Kind::shared_race, now.launch->kernel, "", false, {}, "", -1};
  found.message = name_element(found, write.address, write.size, MemorySpace::shared) +
                  " is read and written " +
                  with_note(missing_between(reader.number, writer.number),
                            what_lies_between({writer, write.site}, {reader, read.site}, block));
  found.parties = {
      party(reader, read.site,
            action_text({0, read.size, 1, AccessType::read, 0}) + ", which nobody has written yet"),
      party(writer, write.site, action_text(write))};
  findings().add(std::move(found));
}

}  // namespace simulator
