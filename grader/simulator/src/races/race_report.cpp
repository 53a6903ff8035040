#include "races/race_report.h"

#include <cstring>
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

std::string with_note(std::string message, const std::string& note) {
  return std::move(message) + ": which comes first is left to chance." +
         (note.empty() ? "" : ' ' + note);
}

/// Of lanes of one warp at one instruction the programming guide ("SIMT Architecture") leaves open
/// only how many of them write, and which is the last.
std::string about_same_value(Reach between, bool is_one_instruction) {
  const char* const who = between == Reach::warp    ? "several lanes of a warp"
                          : between == Reach::block ? "several threads of a block"
                                                    : "threads of several blocks";
  return std::string(" is written by ") + who +
         " that nothing orders, each time with the same value: whoever comes last, it holds that." +
         (between == Reach::warp && is_one_instruction
              ? ""
              : " By the letter of CUDA's memory model it is a race all the same.");
}

/// The collective whose TempStorage the two share, as far as the lines tell; or "".
std::string whose_storage(CodeAddress one, CodeAddress other) {
  for (const CodeAddress site : {one, other}) {
    if (source_line(site).in_storage) return source_line(site).collective;
  }
  return "";
}

std::string about_storage(const std::string& collective, bool is_of_warp) {
  return "It lies in the TempStorage of " + collective +
         (is_of_warp ? ": each warp needs one of its own."
                     : ": all threads must be done with one use of that before the next begins.");
}

}  // namespace

RaceReport::Reason RaceReport::between_blocks(const AccessRecord& earlier,
                                              const AccessEvent& event) const {
  using Gap = Ordering::Handover::Gap;
  const auto [gap, theirs, mine] = ordering_.handover(earlier, event.thread);
  const auto thread = [](unsigned number) { return "thread " + std::to_string(number); };
  const auto line = [](CodeAddress site) { return "the atomic in " + line_text(site); };
  const auto home = [&](std::uintptr_t word) { return memory_.shared.home(word); };
  std::string note;
  Missing missing = Missing::order;
  if (gap == Gap::none || home(mine.word) == home(event.access.address)) {
    note = "";
  } else if (gap == Gap::late_barrier) {
    missing = Missing::barrier;
    note = "Of this block " + thread(mine.thread) + " learns by " + line(mine.site) +
           " that the other one is done, but with no __syncthreads() behind it " +
           thread(event.thread) + " does not wait for that.";
  } else if (gap == Gap::fence) {
    missing = Missing::fence;
    note = "Both blocks use one word atomically in between, but without a __threadfence() before " +
           line(theirs.site) + " other blocks may see the atomic first.";
    if (theirs.after_narrow_fence) note += " __threadfence_block() orders for the own block only.";
  } else {
    missing = gap == Gap::both ? Missing::fence : Missing::barrier;
    note = "Both blocks use one word atomically, but " + thread(theirs.thread) +
           " of the other one does not wait for " + thread(earlier.thread()) + " before " +
           line(theirs.site) + ": no __syncthreads() lies between" +
           (gap == Gap::both ? ", and no __threadfence()." : ".");
  }
  if (ordering_.is_in_cluster(earlier)) {
    return {
        with_note("by threads of two blocks of a cluster, with no cluster.sync() between", note),
        missing == Missing::order ? Missing::cluster_barrier : missing};
  }
  const bool could_sync = launch_.is_cooperative && missing == Missing::order;
  return {
      with_note(could_sync ? "by threads of two blocks, with no grid.sync() between"
                           : "by threads of two blocks, and nothing orders blocks within a launch",
                note),
      could_sync ? Missing::grid_barrier : missing};
}

/// In the order in which they are meant to happen.
RaceReport::Reason RaceReport::within_block(const Racer& first, const Racer& second) const {
  const std::string collective = whose_storage(first.site, second.site);
  const bool in_warp = reach_within_block(first.thread, second.thread) == Reach::warp &&
                       collective.rfind("cub::Block", 0) != 0;
  const bool is_of_warp = collective.rfind("cub::Warp", 0) == 0;
  return {
      with_note(in_warp ? "by two lanes of a warp with no __syncwarp() or __syncthreads() between"
                        : "by two threads of a block with no __syncthreads() between",
                collective.empty() ? calls_.what_lies_between(first, second)
                                   : about_storage(collective, is_of_warp)),
      is_of_warp ? Missing::storage
      : in_warp  ? Missing::syncwarp
                 : Missing::barrier};
}

bool RaceReport::is_volatile(const AccessRecord& earlier, const Access& access) const {
  return access.is_volatile || sites_.is_volatile(earlier.site());
}

std::string RaceReport::about_volatile(const AccessRecord& earlier, const Access& access,
                                       Missing missing) const {
  if (!is_volatile(earlier, access)) return "";
  if (missing == Missing::syncwarp) {
    return " volatile makes no access atomic and keeps no lanes in step: since Volta each lane "
           "goes its own way.";
  }
  const bool may_be_flag = missing == Missing::order || missing == Missing::barrier;
  return std::string(" volatile makes no access atomic and makes no thread wait.") +
         (may_be_flag ? " A flag is written with atomicExch(), and read with atomicAdd(pointer, 0)."
                      : "");
}

Reach RaceReport::reach(const AccessRecord& earlier, const AccessEvent& event) const {
  return ordering_.block_of(earlier) == ordering_.block()
             ? reach_within_block(earlier.thread(), event.thread)
             : Reach::grid;
}

void RaceReport::race(AccessRecord earlier, AccessType earlier_type, AccessEvent event) {
  if (earlier_type == AccessType::write && event.access.type == AccessType::write) {
    hold_back(earlier, event);
  } else {
    tell(earlier, earlier_type, event, Values::unknown);
  }
}

void RaceReport::overwrites(AccessRecord read, AccessRecord written, AccessEvent event) {
  tell(read, AccessType::read, event, Values::unknown, written);
}

bool RaceReport::is_of_one_line(const AccessRecord& earlier, const AccessEvent& event) const {
  return earlier.is_set() && earlier.interval() >= ordering_.block_begin() &&
         source_line(sites_.address(earlier.site())) == source_line(event.access.site);
}

void RaceReport::hold_back(AccessRecord earlier, AccessEvent write) {
  if (!held_.is(write)) settle();
  if (is_known(earlier, write)) return;
  if (held_.earlier.empty()) {
    held_.thread = write.thread;
    held_.access = write.access;
    held_.place = write.place;
    std::memcpy(held_.before, reinterpret_cast<const void*>(write.access.address),
                write.access.size);
  }
  held_.earlier.push_back(earlier);
}

bool RaceReport::is_changed() const {
  return std::memcmp(held_.before, reinterpret_cast<const void*>(held_.access.address),
                     held_.access.size) != 0;
}

void RaceReport::settle_as(Values values) {
  for (const AccessRecord& earlier : std::exchange(held_.earlier, {})) {
    tell(earlier, AccessType::write, {held_.thread, held_.access, held_.place}, values);
  }
}

/// What it takes to store there: a cluster.sync() is one way only.
std::string RaceReport::about_store(const AccessRecord& earlier, const Access& access) const {
  if (access.is_late) {
    return " An asynchronous store may land as soon as it begins: the thread must know before that "
           "the others are done with what was there, by a cluster.sync(), or because they have "
           "arrived at a barrier of its own block.";
  }
  return ordering_.is_store(earlier)
             ? " An asynchronous store has landed when the phase of its barrier is complete: the "
               "thread must have waited for that."
             : "";
}

/// The event is one of the two, the read or the beginning of the store.
void RaceReport::not_awaited(const AccessRecord& earlier, AccessEvent event) {
  const Access& access = event.access;
  const CodeAddress site = sites_.address(earlier.site());
  const CodeAddress store = access.is_late ? access.site : site;
  const CodeAddress read = access.is_late ? site : access.site;
  if (!findings_.is_first(Kind::copy_not_awaited, store, read)) return;
  const Findings::Writing writing(findings_);
  const ElementName element = element_at(memory_, event.place.space, access.address, access.size);
  const unsigned size = sites_.size(earlier.site());
  const Party now =
      party(launch_, ordering_.block(), event.thread, access.site, action_text(access));
  const Party then = party(launch_, ordering_.block_of(earlier), earlier.thread(), site,
                           access.is_late ? action_text(AccessType::read, size)
                                          : "stores " + bytes_text(size) + " asynchronously");
  findings_.add({Kind::copy_not_awaited, launch_.kernel,
                 element.text +
                     " is read before the asynchronous store to it is sure to have landed. It "
                     "lands when a phase of its barrier is complete, and the thread that reads has "
                     "not waited for that.",
                 false, access.is_late ? std::vector{now, then} : std::vector{then, now},
                 element.buffer, element.index});
}

bool RaceReport::is_not_awaited(const AccessRecord& earlier, AccessType earlier_type,
                                const Access& access) const {
  if (earlier_type == AccessType::read) return access.is_late && access.in_first_phase;
  return access.type == AccessType::read && ordering_.is_store(earlier);
}

void RaceReport::tell(AccessRecord earlier, AccessType earlier_type, AccessEvent event,
                      Values values, AccessRecord written) {
  if (is_not_awaited(earlier, earlier_type, event.access)) return not_awaited(earlier, event);
  const Access& access = event.access;
  const Kind kind = kind_of(event);
  const CodeAddress site = sites_.address(earlier.site());
  const std::uint64_t other_block = ordering_.block_of(earlier);
  const Reach between = reach(earlier, event);
  // No execution shows it: what overwrites has waited for what was read.
  const bool is_carried = between == Reach::warp && earlier_type == AccessType::read &&
                          access.type == AccessType::write &&
                          ordering_.is_carried(earlier, event.thread);
  const bool is_same = values == Values::same;
  if (!findings_.is_first(kind, site, access.site, between, is_carried || is_same)) return;
  const Findings::Writing writing(findings_);
  const ElementName element = element_at(memory_, event.place.space, access.address, access.size);
  Finding found{kind, launch_.kernel, "", false, {}, element.buffer, element.index};
  Reason reason = between == Reach::grid
                      ? between_blocks(earlier, event)
                      : within_block({earlier.thread(), site}, {event.thread, access.site});
  found.missing = reason.missing;
  if (is_same) {
    found.message = element.text + about_same_value(between, site == access.site);
    found.habit = Habit::same_value;
  } else if (is_carried) {
    found.message = element.text +
                    " is read and then written by two lanes of a warp, with a shuffle or a vote "
                    "between. Where that hands on what was read, the write cannot come first, but "
                    "CUDA promises no order of memory by it: put a __syncwarp() between.";
  } else {
    found.message = element.text + " is " + participles(earlier_type, access.type) + ' ' +
                    std::move(reason.text) + about_volatile(earlier, access, reason.missing) +
                    about_store(earlier, access);
  }
  // Of those that write at one line it is the result that must not depend on who comes last.
  found.warning = is_carried || is_same ||
                  (earlier_type == AccessType::write && access.type == AccessType::write &&
                   source_line(site) == source_line(access.site));
  if (between == Reach::warp && !found.warning && is_volatile(earlier, access)) {
    found.habit = Habit::lanes_in_step;
  }
  found.writes_again = is_of_one_line(written, event);
  if (earlier_type == AccessType::read && access.type == AccessType::atomic) {
    found.plain_read = site;
  } else if (earlier_type == AccessType::atomic && access.type == AccessType::read) {
    found.plain_read = access.site;
  }
  if (values == Values::different && found.warning)
    found.message += " They write different values.";
  found.parties = {
      party(launch_, other_block, earlier.thread(), site,
            action_text(earlier_type, sites_.size(earlier.site()))),
      party(launch_, ordering_.block(), event.thread, access.site, action_text(access))};
  findings_.add(std::move(found));
}

void RaceReport::narrow_atomics(const AccessRecord& earlier, AccessEvent event) {
  const Access& access = event.access;
  const Kind kind = kind_of(event);
  const CodeAddress site = sites_.address(earlier.site());
  if (!findings_.is_first(kind, site, access.site, Reach::grid)) return;
  const Findings::Writing writing(findings_);
  const ElementName element = element_at(memory_, event.place.space, access.address, access.size);
  Finding found{kind, launch_.kernel, "", false, {}, element.buffer, element.index};
  found.missing = Missing::scope;
  found.message = element.text +
                  " is used by atomics of two blocks, and nothing orders the two. At least one "
                  "has the scope of a block (thread_scope_block, or a name that ends in _block): "
                  "it is atomic to the threads of its own block only, and may miss what another "
                  "block does.";
  found.parties = {party(launch_, ordering_.block_of(earlier), earlier.thread(), site,
                         action_text(AccessType::atomic, sites_.size(earlier.site()))),
                   party(launch_, ordering_.block(), event.thread, access.site,
                         action_text(access.type, access.size))};
  findings_.add(std::move(found));
}

void RaceReport::not_acquired(const AccessRecord& written, const AccessRecord& read,
                              AccessEvent event) {
  const Access& access = event.access;
  const CodeAddress writer = sites_.address(written.site()), reader = sites_.address(read.site());
  if (event.place.space != MemorySpace::global || sites_.is_volatile(read.site())) return;
  if (!findings_.is_first(Kind::global_race, writer, reader, Reach::grid)) return;
  const Findings::Writing writing(findings_);
  const ElementName element = element_at(memory_, MemorySpace::global, access.address, access.size);
  Finding found{Kind::global_race, launch_.kernel, "", false, {}, element.buffer, element.index};
  found.missing = Missing::acquire;
  found.message = element.text +
                  " is written by one block, then read and written over by another one, as under a "
                  "lock. An atomic tells the second that the first is done, but it is relaxed, and "
                  "no __threadfence() lies between it and the read. So the read may bring what was "
                  "there before: a load may be done ahead of the atomic, or find in a cache of its "
                  "multiprocessor (L1) what the first block has written over.";
  found.parties = {party(launch_, ordering_.block_of(written), written.thread(), writer,
                         action_text(AccessType::write, sites_.size(written.site()))),
                   party(launch_, ordering_.block(), event.thread, reader,
                         action_text(AccessType::read, sites_.size(read.site())))};
  findings_.add(std::move(found));
}

void RaceReport::read_only_load(const AccessRecord& earlier, AccessType type, AccessEvent load) {
  const Access& access = load.access;
  const CodeAddress site = sites_.address(earlier.site());
  if (!findings_.is_first(Kind::read_only_load, site, access.site)) return;
  const Findings::Writing writing(findings_);
  const ElementName element = element_at(memory_, MemorySpace::global, access.address, access.size);
  findings_.add({Kind::read_only_load,
                 launch_.kernel,
                 element.text +
                     " is written, and then read by way of the read-only cache (__ldg(), "
                     "ld.global.nc) in the same launch. That cache is for what no thread writes "
                     "while the kernel runs: it may hold what was there before, whatever barriers "
                     "and fences lie between.",
                 false,
                 {party(launch_, ordering_.block_of(earlier), earlier.thread(), site,
                        action_text(type, sites_.size(earlier.site()))),
                  party(launch_, ordering_.block(), load.thread, access.site,
                        action_text(access.type, access.size) + " by the read-only cache")},
                 element.buffer,
                 element.index});
}

void RaceReport::unfenced(const AccessRecord& store, const AsyncCopy& copy) {
  const CodeAddress site = sites_.address(store.site());
  if (!findings_.is_first(Kind::missing_proxy_fence, site, copy.to.site)) return;
  const Findings::Writing writing(findings_);
  const ElementName element =
      element_at(memory_, MemorySpace::shared, copy.from.address, copy.from.size);
  findings_.add({Kind::missing_proxy_fence,
                 launch_.kernel,
                 element.text +
                     " is written and then read by a bulk copy, which takes another way to shared "
                     "memory, with no cuda::ptx::fence_proxy_async() between: it may read what was "
                     "there before.",
                 false,
                 {party(launch_, ordering_.block(), store.thread(), site, "writes it"),
                  party(launch_, ordering_.block(), copy.thread, copy.to.site, copy_text(copy))},
                 element.buffer,
                 element.index});
}

void RaceReport::early_read(const EarlyRead& read, AccessEvent write) {
  const Access& access = write.access;
  if (access.is_late) return not_awaited(AccessRecord(read.when), write);
  const bool is_of_two_blocks = ordering_.block_of(AccessRecord(read.when)) != ordering_.block();
  const Reach reach =
      is_of_two_blocks ? Reach::grid : reach_within_block(read.thread, write.thread);
  if (!findings_.is_first(Kind::shared_race, read.site, access.site, reach)) return;
  const Findings::Writing writing(findings_);
  const ElementName element = element_at(memory_, MemorySpace::shared, access.address, access.size);
  Finding found{Kind::shared_race, launch_.kernel, "", false, {}, element.buffer, element.index};
  Reason reason = is_of_two_blocks
                      ? between_blocks(AccessRecord(read.when), write)
                      : within_block({write.thread, access.site}, {read.thread, read.site});
  found.message = element.text + " is read and written " + std::move(reason.text);
  found.missing = reason.missing;
  found.parties = {
      party(launch_, ordering_.block_of(AccessRecord(read.when)), read.thread, read.site,
            action_text(AccessType::read, read.size) + ", which nobody has written yet"),
      party(launch_, ordering_.block(), write.thread, access.site,
            action_text(access.type, access.size))};
  findings_.add(std::move(found));
}

}  // namespace simulator
