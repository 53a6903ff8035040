#include "races.h"

#include <algorithm>

#include "execution.h"
#include "race_report.h"
#include "sites.h"

namespace simulator {

/// The present access, with what is needed to compare it.
struct RaceShadow::Comparison {
  const Thread& thread;
  const Block& block;
  const Access& access;
  MemorySpace space;
  std::uint32_t oldest;
  AccessRecord record;  // the present access itself

  bool conflicts_with(const AccessRecord& earlier) const {
    if (earlier.interval < oldest) return false;
    if (earlier.interval == record.interval) {
      if (earlier.thread() == record.thread()) return false;
      if (earlier.warp() == record.warp() && earlier.epoch() < record.epoch()) return false;
    }
    return !is_ordered_slowly(earlier, thread, block);
  }

  void compare(const AccessRecord& earlier, AccessType type) const {
    if (__builtin_expect(conflicts_with(earlier), 0)) report_race(earlier, type, access, space);
  }
};

void RaceShadow::fit_cells(std::size_t offset, unsigned size) {
  unsigned wanted = std::min(size, 4u);
  while (offset % wanted != 0 || size % wanted != 0) wanted /= 2;
  if (cell_bytes_ != 0 && cell_bytes_ <= wanted) return;
  cell_bytes_ = wanted;
  cells_ = LazyArray<Cell>(bytes_ / wanted + 16);
  atomics_.clear();
}

void RaceShadow::check_atomics(std::size_t index, const Comparison& comparison) {
  if (comparison.access.is_atomic) {
    atomics_[index] = comparison.record;
    return;
  }
  const auto found = atomics_.find(index);
  if (found != atomics_.end()) comparison.compare(found->second, AccessType::atomic);
}

void RaceShadow::check_cell(std::size_t index, const Comparison& comparison) {
  Cell& cell = cells_[index];
  comparison.compare(cell.write, AccessType::write);
  if (comparison.access.type == AccessType::read) {
    // Of several readers between two barriers the first is kept: any of them would do.
    const bool keep = cell.read.interval == comparison.record.interval &&
                      cell.read.warp() != comparison.record.warp();
    if (!keep && !comparison.access.is_atomic) cell.read = comparison.record;
  } else {
    comparison.compare(cell.read, AccessType::read);
    if (!comparison.access.is_atomic) cell = {comparison.record, {}};
  }
}

void RaceShadow::check(const Thread& thread, const Block& block, std::size_t offset,
                       const Access& access, MemorySpace space, std::uint32_t oldest) {
  if (__builtin_expect(((offset | access.size) & (cell_bytes_ - 1)) != 0, 0)) {
    fit_cells(offset, access.size);
  }
  const Comparison comparison = {
      thread, block,  access,
      space,  oldest, {block.interval, thread.number, thread.warp_epoch, site_number(access.site)}};
  const std::size_t first = offset / cell_bytes_;
  const std::size_t last = (offset + access.size - 1) / cell_bytes_;
  for (std::size_t index = first; index <= last; ++index) {
    check_cell(index, comparison);
    if (access.is_atomic || !atomics_.empty()) check_atomics(index, comparison);
  }
}

}  // namespace simulator
