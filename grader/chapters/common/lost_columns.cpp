// Ways to leave columns out of a row's sum.
//
// Which columns a mistake loses depends on the number of threads a block, which the grader cannot
// know: every usual number is tried. Thread t of B sees columns t, t + B, t + 2 B, ...
#include "chapters/common/lost_columns.h"

#include <fmt/format.h>

namespace onepass::common {
namespace {

using Lost = Mistake<Counted>;

/// The shares of a warp's lanes, or of the warps, are never all added up.
Lost one_warp_only(const std::string& columns) {
  Lost lost{"one-warp-only", {}};
  for (std::int64_t threads : {256, 1024, 512, 128, 64}) {
    lost.ways.push_back(
        {fmt::format("This is the sum over the first warp's {} only: each warp has the sum of its "
                     "own 32 lanes, and the warps' sums are never added up. Let them meet in "
                     "shared memory.",
                     columns),
         [threads](std::int64_t col, std::int64_t) { return col % threads < 32; }});
  }
  for (std::int64_t threads : {256, 1024, 512, 128, 64, 32}) {
    lost.ways.push_back(
        {fmt::format("This is the sum over the {} of thread 0 only: the other lanes' shares are "
                     "never added to it.",
                     columns),
         [threads](std::int64_t col, std::int64_t) { return col % threads == 0; }});
    lost.ways.push_back(
        {fmt::format("This is the sum over the {} of each warp's lane 0 only: add up the 32 lanes "
                     "of a warp before the warps meet.",
                     columns),
         [threads](std::int64_t col, std::int64_t) { return col % threads % 32 == 0; }});
  }
  // As a butterfly with a step too few does. In a row of one warp that is a dropped tail.
  for (std::int64_t lanes : {16, 8}) {
    lost.ways.push_back(
        {fmt::format("This is the sum over the first {} lanes of each warp only: a warp has 32 "
                     "lanes, so it takes five steps, 16, 8, 4, 2, 1.",
                     lanes),
         [lanes](std::int64_t col, std::int64_t cols) { return cols <= 32 || col % 32 < lanes; }});
  }
  return lost;
}

/// `if (threadIdx.x < cols)` where a loop over the columns should be.
Lost no_stride_loop(const RowWords& words) {
  Lost lost{"no-stride-loop", {}};
  for (std::int64_t threads : {256, 1024, 512, 128, 64, 32}) {
    lost.ways.push_back(
        {fmt::format("This is the sum over the first {0} {2}s only: a {1} may have more {2}s than "
                     "the block has threads, so each thread has to go on to {2} threadIdx.x + "
                     "{0}, and so on.",
                     threads, words.row, words.column),
         [threads](std::int64_t col, std::int64_t cols) {
           return cols > threads && col < threads;
         }});
  }
  return lost;
}

/// Only whole groups of columns are read.
Lost tail_dropped(const RowWords& words) {
  Lost lost{"tail-dropped", {}};
  for (std::int64_t group : {2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}) {
    lost.ways.push_back(
        {fmt::format("This is the sum without the last {1}s of the {2}: whole groups of {0} {1}s "
                     "are counted, and what is left over at the end is not.",
                     group, words.column, words.row),
         [group](std::int64_t col, std::int64_t cols) { return col < cols / group * group; }});
  }
  lost.ways.push_back(
      {fmt::format("This is the sum without the last {} of the {}.", words.column, words.row),
       [](std::int64_t col, std::int64_t cols) { return col < cols - 1; }});
  return lost;
}

/// B / 32 rounded down: the lanes of a last, partial warp do not count.
Lost partial_warp_dropped(const std::string& columns) {
  Lost lost{"partial-warp-dropped", {}};
  for (std::int64_t threads : {48, 80, 100, 180, 200, 250, 300, 500, 1000}) {
    lost.ways.push_back(
        {fmt::format("This is the sum without the {} of a last, partial warp: {} threads are {} "
                     "whole warps and {} threads more. Round the number of warps up.",
                     columns, threads, threads / 32, threads % 32),
         [threads](std::int64_t col, std::int64_t) { return col % threads < threads / 32 * 32; }});
  }
  return lost;
}

/// Does thread t's share reach slot 0, when `for (n = B / 2; n > 0; n /= 2)` adds slot t + n to
/// slot t for t < n?
bool reaches_slot_0(std::int64_t thread, std::int64_t threads) {
  for (std::int64_t half = threads / 2; half > 0; half /= 2) {
    if (thread >= 2 * half) {
      return false;
    }
    thread %= half;
  }
  return thread == 0;
}

Lost tree_drops_odd(const std::string& columns) {
  Lost lost{"tree-needs-power-of-two", {}};
  for (std::int64_t threads : {96, 160, 192, 320, 384, 640, 768, 48, 80, 100, 180, 200}) {
    lost.ways.push_back(
        {fmt::format("This is the sum without some threads' {}: halving {} threads comes to an odd "
                     "number, and the odd one is dropped. Use a power of two, or round up.",
                     columns, threads),
         [threads](std::int64_t col, std::int64_t) {
           return reaches_slot_0(col % threads, threads);
         }});
  }
  return lost;
}

}  // namespace

Table<Counted> lost_columns(const RowWords& words) {
  const std::string columns = words.column + "s";
  return {one_warp_only(columns), no_stride_loop(words), tail_dropped(words),
          partial_warp_dropped(columns), tree_drops_odd(columns)};
}

}  // namespace onepass::common
