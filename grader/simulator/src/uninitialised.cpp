#include "uninitialised.h"

#include <algorithm>
#include <string>

#include "execution.h"
#include "findings.h"
#include "shared_memory.h"
#include "shared_names.h"
#include "stopping.h"

namespace simulator {

namespace {
constexpr std::size_t kMostNoted = 4096;  // more say nothing new
}

void note_uninitialised_read(Block& block, const Thread& thread, std::uintptr_t address,
                             unsigned size, CodeAddress site) {
  auto& reads = block.shared.uninitialised_reads;
  if (reads.size() < kMostNoted) reads.push_back({address, size, thread.number, site});
}

void settle_early_reads(Block& block, const Thread& writer, std::uintptr_t address, unsigned size,
                        CodeAddress site) {
  const auto is_early = [&](const UninitialisedRead& read) {
    return read.thread != writer.number && read.address < address + size &&
           address < read.address + read.size;
  };
  auto& reads = block.shared.uninitialised_reads;
  const auto early = std::find_if(reads.begin(), reads.end(), is_early);
  if (early == reads.end()) return;
  const ReportInProgress guard;
  const SharedElement element = shared_element(address, size);
  const Thread& reader = block.threads[early->thread];
  const bool same_warp = reader.number / 32 == writer.number / 32;
  findings().add({Kind::shared_race,
                  now.launch->kernel,
                  element.text + " is read by one thread and written by another with no " +
                      (same_warp ? "__syncwarp() or __syncthreads()" : "__syncthreads()") +
                      " between: which comes first is left to chance.",
                  false,
                  {party(reader, early->site,
                         "reads " + std::to_string(early->size) + " bytes that nobody has written"),
                   party(writer, site, "writes " + std::to_string(size) + " bytes")},
                  element.variable,
                  element.index});
  reads.erase(std::remove_if(reads.begin(), reads.end(), is_early), reads.end());
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
                           "reads " + std::to_string(read.size) + " bytes")},
                    element.variable,
                    element.index});
  }
  reads.clear();
}

}  // namespace simulator
