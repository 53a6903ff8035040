#include "access/uninitialised.h"

#include <algorithm>

#include "access/bad_access.h"
#include "findings/findings.h"
#include "memory/shared_names.h"
#include "races/race_report.h"
#include "scheduling/execution.h"
#include "scheduling/stopping.h"

namespace simulator {

namespace {
constexpr std::size_t kMostNoted = 4096;  // more say nothing new
}

void note_uninitialised_read(Block& block, const Thread& thread, const Access& read) {
  auto& reads = block.shared.uninitialised_reads;
  if (reads.size() >= kMostNoted) return;
  reads.push_back(
      {read.address, read.size, thread.number, read.site, record_of(thread, block, read.site)});
}

void settle_early_reads(Block& block, const Thread& writer, const Access& write) {
  const auto is_early = [&](const UninitialisedRead& read) {
    return read.address < write.address + write.size && write.address < read.address + read.size &&
           !is_ordered(read.record, writer, block);
  };
  auto& reads = block.shared.uninitialised_reads;
  const auto first_late = std::stable_partition(reads.begin(), reads.end(), is_early);
  std::for_each(reads.begin(), first_late,
                [&](const UninitialisedRead& read) { report_early_read(read, write); });
  reads.erase(reads.begin(), first_late);
}

void report_uninitialised_reads(Block& block) {
  auto& reads = block.shared.uninitialised_reads;
  if (reads.empty()) return;
  const ReportInProgress guard;
  for (const UninitialisedRead& read : reads) {
    if (!findings().is_first(Kind::uninitialised_shared, read.site)) continue;
    const SharedElement element = shared_element(read.address, read.size);
    findings().add({Kind::uninitialised_shared,
                    now.launch->kernel,
                    "Reads " + element.text + ", which no thread of the block has written.",
                    false,
                    {party(block.threads[read.thread], read.site,
                           action_text({0, read.size, 1, AccessType::read, 0}))},
                    element.variable,
                    element.index});
  }
  reads.clear();
}

}  // namespace simulator
