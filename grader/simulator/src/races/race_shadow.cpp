#include "races/race_shadow.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace simulator {
namespace {

constexpr std::size_t kMostDivided = std::size_t{16} << 20;  // bytes of memory

/// Beside more bytes of memory no records are kept: threads that walk through it in large strides
/// would touch gigabytes of them. What races there does so in a smaller tensor too.
constexpr std::size_t kMostWatched = std::size_t{4} << 30;

/// Each entry `times` times over; 0 gives an empty array.
template <typename T>
LazyArray<T> spread(const LazyArray<T>& wide, std::size_t times, std::size_t size) {
  LazyArray<T> narrow(size);
  for (std::size_t i = 0; times > 0 && i < wide.size(); ++i) {
    if (!wide[i].is_set()) continue;
    for (std::size_t k = i * times; k < std::min((i + 1) * times, size); ++k) narrow[k] = wide[i];
  }
  return narrow;
}

}  // namespace

/// The present access, with what is needed to compare it.
struct RaceShadow::Comparison {
  unsigned thread;
  AccessRecord record;  // of the present access
  std::uint32_t oldest;
  const Ordering& ordering;
  RaceReport& report;
  FirstReads& first_reads;

  bool is_old(const AccessRecord& earlier) const { return earlier.interval() < oldest; }

  void compare(const AccessRecord& earlier, AccessType type, const AccessEvent& event) const {
    if (is_old(earlier)) return;
    if (__builtin_expect(!ordering.is_ordered(earlier, thread), 0)) {
      report.race(earlier, type, event);
    }
  }

  /// The present access writes over what has been read, and was written before that.
  void compare_with_read(const AccessRecord& read, const AccessRecord& written,
                         const AccessEvent& event) const {
    if (is_old(read)) return;
    if (__builtin_expect(!ordering.is_ordered(read, thread), 0)) {
      report.overwrites(read, written, event);
    }
  }

  /// The present access writes over what another block has written and this thread has read.
  void compare_update(const Cell& cell, const AccessEvent& event) const {
    if (is_old(cell.write) || is_old(cell.read) || !is_of_another_block(cell.write)) return;
    if (cell.read.thread() != thread || is_of_another_block(cell.read)) return;
    if (ordering.is_ordered(cell.write, thread) && !ordering.is_acquired(cell.write, thread)) {
      report.not_acquired(cell.write, cell.read, event);
    }
  }

  /// For an atomic.
  void compare_atomic_with_read(const AccessRecord& earlier, const AccessEvent& event) const {
    if (is_old(earlier)) return;
    if (ordering.is_ordered(earlier, thread)) {
      if (earlier.thread() == thread && !is_of_another_block(earlier) &&
          confirms_first_read(event.access)) {
        first_reads.confirm(earlier);
      }
      return;
    }
    if (!first_reads.hold_back(earlier, record, event)) {
      report.race(earlier, AccessType::read, event);
    }
  }

  /// The present access is plain.
  void compare_with_atomics(const Atomics& earlier, const AccessEvent& event) const {
    if (event.access.type != AccessType::read) {
      compare(earlier.last().record, AccessType::atomic, event);
    } else if (races_as_load(earlier)) {
      first_reads.hold_back(earlier.update.record, event);
    }
  }

  /// Of two blocks, and one of them is an atomic to its own only?
  void compare_atomics(const Atomics& earlier, const AccessEvent& event) const {
    const bool loads = event.access.is_load;
    const Atomic& other = loads ? earlier.update : earlier.last();
    if (!other.is_in_block && !event.access.is_in_block) return;
    if (!is_old(other.record) && is_of_another_block(other.record) &&
        (loads ? races_as_load(earlier) : !ordering.is_ordered(other.record, thread))) {
      report.narrow_atomics(other.record, event);
    }
  }

  bool races_as_load(const Atomics& earlier) const {
    const AccessRecord& update = earlier.update.record;
    return !is_old(update) && !ordering.is_ordered(update, thread) && !is_behind(earlier.seen);
  }

  bool is_behind(const AccessRecord& load) const {
    return load.is_set() && (is_old(load) || ordering.is_ordered(load, thread));
  }

  /// May the present read take the place of an earlier one? Yes if that happened before it: what
  /// comes after this one then comes after both. (That a chain of atomics orders reads of two
  /// blocks is not looked for, because it takes long.)
  bool replaces(const AccessRecord& earlier) const {
    if (is_old(earlier)) return true;
    if (is_of_another_block(earlier)) return false;
    return earlier.interval() < ordering.phase_begin() ||
           ordering.is_ordered_within_phase(earlier, thread);
  }

  bool is_better_second(const AccessRecord& second, const AccessRecord& first) const {
    return is_of_another_block(second) || replaces(second) ||
           (second.warp() == first.warp() && record.warp() != first.warp());
  }

  /// Two reads of the same interval are known, by two other warps: they stay.
  bool is_one_of_many(const AccessRecord& first, const AccessRecord& second) const {
    return first.interval() == record.interval() && second.interval() == record.interval() &&
           first.warp() != second.warp() && first.warp() != record.warp() &&
           second.warp() != record.warp();
  }

  bool is_of_another_block(const AccessRecord& earlier) const {
    return earlier.interval() != record.interval() &&
           (earlier.interval() < ordering.block_begin() ||
            ordering.block_of(earlier) != ordering.block());
  }
};

void RaceShadow::fit_cells(std::size_t offset, unsigned size) {
  unsigned wanted = std::bit_floor(std::min(size, 16u));  // a zero-filled copy may read 10
  while (offset % wanted != 0 || size % wanted != 0) wanted /= 2;
  if (cell_bytes_ != 0 && cell_bytes_ <= wanted) return;
  const std::size_t times = bytes_ <= kMostDivided ? cell_bytes_ / wanted : 0;
  const std::size_t size_now = bytes_ / wanted + 16;
  cells_ = spread(cells_, times, size_now);
  second_reads_ = spread(second_reads_, times, size_now);
  std::unordered_map<std::size_t, Atomics> wide = std::exchange(atomics_, {});
  for (const auto& [index, atomics] : wide) {
    for (std::size_t k = index * times; k < (index + 1) * times; ++k) atomics_[k] = atomics;
  }
  cell_bytes_ = wanted;
  cell_shift_ = static_cast<unsigned>(__builtin_ctz(wanted));
}

void RaceShadow::check_atomics(std::size_t index, const Comparison& comparison,
                               const AccessEvent& event) {
  if (event.access.is_atomic) {
    Atomics& atomics = atomics_[index];
    comparison.compare_atomics(atomics, event);
    const Atomic now = {comparison.record, event.access.is_in_block};
    if (!event.access.is_load) {
      atomics = {now, {}, {}};
    } else {
      atomics.load = now;
      if (!comparison.is_behind(atomics.seen)) atomics.seen = now.record;
    }
    if (confirms_first_read(event.access)) forget_own_read(index, comparison);
    return;
  }
  const auto found = atomics_.find(index);
  if (found != atomics_.end()) comparison.compare_with_atomics(found->second, event);
}

/// What the thread has read, a compare-and-swap has found again: the atomic stands for the read.
void RaceShadow::forget_own_read(std::size_t index, const Comparison& comparison) {
  const auto is_own = [&](const AccessRecord& read) {
    return !comparison.is_old(read) && read.thread() == comparison.thread &&
           !comparison.is_of_another_block(read);
  };
  AccessRecord& first = cells_[index].read;
  if (first.has_second() && is_own(second_reads_[index])) {
    first.set_has_second(false);
  } else if (is_own(first)) {
    first = first.has_second() ? second_reads_[index] : AccessRecord();
  }
}

// These two are part of every access, so their code is put where they are called.

inline void RaceShadow::note_read(std::size_t index, const Comparison& comparison) {
  AccessRecord& first = cells_[index].read;
  if (comparison.is_old(first)) {
    first = comparison.record;
    return;
  }
  const bool has_second = first.has_second();
  if (has_second && comparison.is_one_of_many(first, second_reads_[index])) return;
  if (comparison.replaces(first)) {
    first = comparison.record;
    first.set_has_second(has_second);
    return;
  }
  AccessRecord& second = second_reads_[index];
  if (!has_second || comparison.is_better_second(second, first)) second = comparison.record;
  first.set_has_second(true);
}

inline void RaceShadow::check_cell(std::size_t index, const Comparison& comparison,
                                   const AccessEvent& event) {
  Cell& cell = cells_[index];
  comparison.compare(cell.write, AccessType::write, event);
  if (event.access.type == AccessType::read) {
    note_read(index, comparison);
    return;
  }
  if (cell.read.has_second()) {
    comparison.compare_with_read(second_reads_[index], cell.write, event);
  }
  comparison.compare_with_read(cell.read, cell.write, event);
  comparison.compare_update(cell, event);
  cell = {comparison.record, {}};
}

void RaceShadow::check_cell_atomically(std::size_t index, const Comparison& comparison,
                                       const AccessEvent& event) {
  const Cell& cell = cells_[index];
  comparison.compare(cell.write, AccessType::write, event);
  if (event.access.type == AccessType::read || event.access.is_load) return;
  if (cell.read.has_second()) comparison.compare_atomic_with_read(second_reads_[index], event);
  comparison.compare_atomic_with_read(cell.read, event);
}

void RaceShadow::check_among_atomics(AccessEvent event, const AccessRecord& record,
                                     std::uint32_t oldest, const Ordering& ordering,
                                     RaceReport& report, FirstReads& first_reads) {
  const Access& access = event.access;
  const Comparison comparison = {event.thread, record, oldest, ordering, report, first_reads};
  first_reads.settle(event);
  const std::size_t last = (event.place.offset + access.size - 1) >> cell_shift_;
  for (std::size_t index = event.place.offset >> cell_shift_; index <= last; ++index) {
    if (access.is_atomic) {
      check_cell_atomically(index, comparison, event);
    } else {
      check_cell(index, comparison, event);
    }
    check_atomics(index, comparison, event);
  }
}

void RaceShadow::check(const AccessEvent& event, const AccessRecord& record, std::uint32_t oldest,
                       const Ordering& ordering, RaceReport& report, FirstReads& first_reads) {
  const Access& access = event.access;
  const std::size_t offset = event.place.offset;
  if (__builtin_expect(((offset | access.size) & (cell_bytes_ - 1)) != 0, 0)) {
    if (bytes_ > kMostWatched) return;
    fit_cells(offset, access.size);
  }
  if (__builtin_expect(access.is_atomic || !atomics_.empty(), 0)) {
    return check_among_atomics(event, record, oldest, ordering, report, first_reads);
  }
  const Comparison comparison = {event.thread, record, oldest, ordering, report, first_reads};
  const std::size_t last = (offset + access.size - 1) >> cell_shift_;
  for (std::size_t index = offset >> cell_shift_; index <= last; ++index) {
    check_cell(index, comparison, event);
  }
}

}  // namespace simulator
