// The shadow of a piece of memory: for each cell of 1 to 16 bytes the last write and the reads
// since. A new access is compared with them, then takes their place. The threads of the simulator
// run in a fixed order, but the comparison does not care who came first: a race is found whether or
// not it did harm in this run.
//
// Of the reads two are enough: a read takes the place of those that happened before it, and of
// several that nothing orders, two by different threads, of different warps if there are such. One
// of them is not the writer that comes next. Few cells have two, so the second has its own array,
// whose pages are not there until one is needed.
//
// The size of a cell is that of the smallest access so far: neighbouring halves or bytes never
// count as one. When a smaller access comes, the cells are divided (those of a large piece of
// memory, which would take long, start anew). Atomics are kept apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "common/lazy_array.h"
#include "events/events.h"
#include "races/first_reads.h"
#include "races/ordering.h"
#include "races/race_report.h"

namespace simulator {

class RaceShadow {
 public:
  RaceShadow() = default;
  explicit RaceShadow(std::size_t bytes) : bytes_(bytes) {}

  /// Compares an access to this memory, and keeps its record. Records of intervals before `oldest`
  /// are of earlier launches or blocks.
  void check(const AccessEvent& event, const AccessRecord& record, std::uint32_t oldest,
             const Ordering& ordering, RaceReport& report, FirstReads& first_reads);

  /// The records that are kept where an access goes: visit(record, type).
  template <typename Visit>
  void each_record(const AccessEvent& event, Visit visit) const {
    if (cell_bytes_ == 0) return;
    const std::size_t last = (event.place.offset + event.access.size - 1) >> cell_shift_;
    for (std::size_t index = event.place.offset >> cell_shift_; index <= last; ++index) {
      visit(cells_[index].write, AccessType::write);
      visit(cells_[index].read, AccessType::read);
      if (const auto atomic = atomics_.find(index); atomic != atomics_.end()) {
        visit(atomic->second.update.record, AccessType::atomic);
        if (!event.access.is_atomic) visit(atomic->second.load.record, AccessType::read);
      }
    }
  }

  /// Calls each(record) for the last write to each cell of these bytes, of neighbours that one
  /// access has written once.
  template <typename Each>
  void each_write(std::size_t offset, unsigned size, Each each) const {
    if (cell_bytes_ == 0) return;
    AccessRecord last;
    for (std::size_t i = offset >> cell_shift_; i <= (offset + size - 1) >> cell_shift_; ++i) {
      if (cells_[i].write.bits == last.bits) continue;
      last = cells_[i].write;
      if (last.is_set()) each(last);
    }
  }

 private:
  struct Cell {
    AccessRecord write, read;

    bool is_set() const { return write.is_set() || read.is_set(); }
  };
  struct Atomic {
    AccessRecord record;
    bool is_in_block = false;  // Access::is_in_block
  };
  struct Atomics {
    Atomic update;      // the last
    Atomic load;        // the last since
    AccessRecord seen;  // a load since; who comes behind it comes behind the update, too

    const Atomic& last() const { return load.record.is_set() ? load : update; }
  };
  struct Comparison;

  [[gnu::noinline]] void fit_cells(std::size_t offset, unsigned size);
  [[gnu::noinline]] void check_among_atomics(AccessEvent event, const AccessRecord& record,
                                             std::uint32_t oldest, const Ordering& ordering,
                                             RaceReport& report, FirstReads& first_reads);
  void check_cell(std::size_t index, const Comparison& comparison, const AccessEvent& event);
  void check_cell_atomically(std::size_t index, const Comparison& comparison,
                             const AccessEvent& event);
  void check_atomics(std::size_t index, const Comparison& comparison, const AccessEvent& event);
  void note_read(std::size_t index, const Comparison& comparison);
  void forget_own_read(std::size_t index, const Comparison& comparison);

  std::size_t bytes_ = 0;
  unsigned cell_bytes_ = 0;  // 0: not known yet
  unsigned cell_shift_ = 0;  // its logarithm
  LazyArray<Cell> cells_;
  LazyArray<AccessRecord> second_reads_;              // where a cell's read says has_second()
  std::unordered_map<std::size_t, Atomics> atomics_;  // by cell
};

}  // namespace simulator
