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

void forget_uninitialised_reads(Block& block, std::uintptr_t address, unsigned size) {
  auto& reads = block.shared.uninitialised_reads;
  reads.erase(std::remove_if(reads.begin(), reads.end(),
                             [=](const UninitialisedRead& read) {
                               return read.address < address + size &&
                                      address < read.address + read.size;
                             }),
              reads.end());
}

void report_uninitialised_reads(Block& block) {
  auto& reads = block.shared.uninitialised_reads;
  if (reads.empty()) return;
  const ReportInProgress guard;
  for (const UninitialisedRead& read : reads) {
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
