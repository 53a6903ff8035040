#include "copies/copies.h"

#include <utility>

#include "findings/texts.h"
#include "memory/names.h"
#include "source/source_lines.h"

namespace simulator {
namespace {

bool overlap(const Access& a, const Access& b) {
  return a.address < b.address + b.size && b.address < a.address + a.size;
}

}  // namespace

void CopyChecker::on(const BlockBegin& event) {
  Block& block = blocks_.begin(event);
  block.number = event.number;
  block.from.clear();
  block.to.clear();
  block.bulk.clear();
}

void CopyChecker::on(const CopyBegin& event) {
  const AsyncCopy& copy = *event.copy;
  Block& block = blocks_.running();
  if (copy.whole > 0) return block.bulk.begin(copy);
  if (copy.from.size > 0) block.from.add(copy);
  block.to.add(copy);
}

void CopyChecker::on(const CopyEnd& event) {
  Block& block = blocks_.running();
  if (event.copy->whole > 0) return block.bulk.end(*event.copy);
  block.from.remove(*event.copy);
  block.to.remove(*event.copy);
}

const AsyncCopy* CopyChecker::met_by_remote(AccessEvent event) {
  return met_in(owner(event), memory_.shared.home(event.access.address), event.access);
}

bool CopyChecker::is_at_source(const AsyncCopy& copy, const Access& access) const {
  Access at_home = access;
  at_home.address = memory_.shared.home(access.address);
  return !overlap(copy.to, at_home);
}

/// Why the copy may not have landed when the thread uses its memory.
std::string CopyChecker::why_under_way(const AsyncCopy& copy, bool is_own) {
  if (copy.is_at_barrier) {
    return "It lands when a phase of its barrier is complete, and nobody has waited for that.";
  }
  if (copy.left_by != 0 && !copy.was_committed) {
    return "The wait in " + line_text(copy.left_by) +
           " covers what was committed before it, and this copy was not: a " +
           (copy.whole > 0 ? "cp_async_bulk_commit_group()" : "__pipeline_commit()") +
           " must come between.";
  }
  if (copy.left_by != 0) {
    return "The wait in " + line_text(copy.left_by) + " leaves the last " +
           (copy.left == 1 ? "batch" : std::to_string(copy.left) + " batches") +
           " under way, and this copy is in one that is left.";
  }
  if (copy.is_read) {
    return "cp_async_bulk_wait_group_read() waits until the source has been read, and not until "
           "the destination is written.";
  }
  return std::string(is_own ? "The thread has" : "The thread that began it has") +
         " not waited for it" + (copy.is_committed ? "" : ", nor committed it") +
         (is_own ? "." : ", and a barrier waits for no copy.");
}

void CopyChecker::report(const AsyncCopy& met, AccessEvent event) {
  const Access& access = event.access;
  const CodeAddress site = met.to.site;
  const Kind kind =
      access.type == AccessType::read ? Kind::copy_not_awaited : Kind::copy_overwritten;
  if (!findings_.is_first(kind, site, access.site)) return;
  const Findings::Writing writing(findings_);
  const std::uint64_t block = blocks_.running().number;
  const ElementName element = element_at(memory_, event.place.space, access.address, access.size);
  findings_.add({kind,
                 launch_.kernel,
                 element.text + " is " + words_for(access.type).done + " before the asynchronous " +
                     (met.is_store                ? "store to"
                      : is_at_source(met, access) ? "copy from"
                                                  : "copy to") +
                     " it is sure to have landed. " +
                     why_under_way(met, met.block == block && met.thread == event.thread),
                 false,
                 {party(launch_, met.block, met.thread, site, copy_text(met)),
                  party(launch_, block, event.thread, access.site, action_text(access))},
                 element.buffer,
                 element.index});
}

void CopyChecker::on(const CopyLeft& event) {
  const AsyncCopy& copy = *event.copy;
  if (!findings_.is_first(Kind::copy_left, copy.to.site)) return;
  const Findings::Writing writing(findings_);
  const bool is_out = copy.from_place.space == MemorySpace::shared;
  const Access& end = is_out ? copy.from : copy.to;
  const ElementName element = element_at(memory_, MemorySpace::shared, end.address, end.size);
  findings_.add(
      {Kind::copy_left,
       launch_.kernel,
       copy.is_store ? "The block ends while an asynchronous store to " + element.text +
                           " may be under way, and then its shared memory is another block's. " +
                           why_under_way(copy, true)
       : is_out ? "A thread returns while its bulk copy from " + element.text +
                      " may still be reading it, and when the block ends its shared memory is "
                      "another block's. " +
                      why_under_way(copy, true)
                : "A thread returns while its asynchronous copy to " + element.text +
                      " may be under way: it was moved for nothing, or a wait is missing.",
       !is_out && !copy.is_store,
       {party(launch_, copy.block, copy.thread, copy.to.site, copy_text(copy))},
       element.buffer,
       element.index});
}

}  // namespace simulator
