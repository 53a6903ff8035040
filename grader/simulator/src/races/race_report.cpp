#include "races/race_report.h"

#include <utility>

#include "findings/texts.h"
#include "memory/names.h"
#include "source/source_lines.h"

namespace simulator {
namespace {

/// "written and read", "written twice"
std::string participles(AccessType first, AccessType second) {
  return words_for(first).done +
         (first == second ? std::string(" twice") : std::string(" and ") + words_for(second).done);
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

}  // namespace

/// An atomic on another word that would order the two blocks, were there a fence before it.
std::string RaceReport::about_atomics(const AccessRecord& earlier, const Access& access) const {
  const std::uintptr_t word = ordering_.word_without_fence(earlier);
  if (word == 0 || word == access.address) return "";
  return "Both blocks use one word atomically in between, but without a __threadfence() before it "
         "other blocks may see the atomic first.";
}

/// Do both, of two blocks, use the word as a flag, by atomics and through volatile pointers?
bool RaceReport::is_flag(const AccessRecord& earlier, AccessType earlier_type,
                         const Access& access) const {
  return ordering_.block_of(earlier) != ordering_.block() &&
         (earlier_type == AccessType::atomic || sites_.is_volatile(earlier.site())) &&
         (access.is_atomic || access.is_volatile);
}

std::string RaceReport::about_volatile(const AccessRecord& earlier, const Access& access) const {
  return access.is_volatile || sites_.is_volatile(earlier.site())
             ? " volatile makes no access atomic and makes no thread wait."
             : "";
}

std::string RaceReport::relation(const AccessRecord& earlier, const AccessEvent& event) const {
  if (ordering_.block_of(earlier) == ordering_.block()) {
    return with_note(missing_between(earlier.thread(), event.thread),
                     calls_.what_lies_between({earlier.thread(), sites_.address(earlier.site())},
                                              {event.thread, event.access.site}));
  }
  return with_note("by threads of two blocks, and nothing orders blocks within a launch",
                   about_atomics(earlier, event.access));
}

void RaceReport::race(AccessRecord earlier, AccessType earlier_type, AccessEvent event) {
  const Access& access = event.access;
  const bool is_shared = event.place.space == MemorySpace::shared;
  const Kind kind = is_shared ? Kind::shared_race : Kind::global_race;
  const CodeAddress site = sites_.address(earlier.site());
  const std::uint64_t other_block = ordering_.block_of(earlier);
  const Reach reach = other_block == ordering_.block()
                          ? reach_within_block(earlier.thread(), event.thread)
                          : Reach::grid;
  if (!findings_.is_first(kind, site, access.site, reach)) return;
  const Findings::Writing writing(findings_);
  const ElementName element = element_at(memory_, event.place.space, access.address, access.size);
  Finding found{kind, launch_.kernel, "", false, {}, element.buffer, element.index};
  const bool flag = is_flag(earlier, earlier_type, access);
  found.message =
      element.text + " is " + participles(earlier_type, access.type) + ' ' +
      (flag ? "by threads of two blocks through a volatile pointer. GPUs let a flag pass so, but "
              "CUDA C++ does not promise it: write it with atomicExch() and read it with "
              "atomicAdd(pointer, 0)."
            : relation(earlier, event) + about_volatile(earlier, access));
  // All threads may write one and the same value, and often do: that harms nobody.
  found.warning = (earlier_type == AccessType::write && access.type == AccessType::write &&
                   source_line(site) == source_line(access.site)) ||
                  flag;
  found.parties = {
      party(launch_, other_block, earlier.thread(), site, action_text(earlier_type, access.size)),
      party(launch_, ordering_.block(), event.thread, access.site,
            action_text(access.type, access.size))};
  findings_.add(std::move(found));
}

void RaceReport::early_read(const EarlyRead& read, AccessEvent write) {
  const Access& access = write.access;
  const Reach reach = reach_within_block(read.thread, write.thread);
  if (!findings_.is_first(Kind::shared_race, read.site, access.site, reach)) return;
  const Findings::Writing writing(findings_);
  const ElementName element = element_at(memory_, MemorySpace::shared, access.address, access.size);
  Finding found{Kind::shared_race, launch_.kernel, "", false, {}, element.buffer, element.index};
  found.message =
      element.text + " is read and written " +
      with_note(missing_between(read.thread, write.thread),
                calls_.what_lies_between({write.thread, access.site}, {read.thread, read.site}));
  found.parties = {
      party(launch_, ordering_.block(), read.thread, read.site,
            action_text(AccessType::read, read.size) + ", which nobody has written yet"),
      party(launch_, ordering_.block(), write.thread, access.site,
            action_text(access.type, access.size))};
  findings_.add(std::move(found));
}

}  // namespace simulator
