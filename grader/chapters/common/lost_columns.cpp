// Ways to leave columns out of a row's sum.
//
// Which columns a mistake loses depends on the number of threads a block, which the grader cannot
// know: every usual number is tried. Thread t of B sees columns t, t + B, t + 2 B, ...
#include "chapters/common/lost_columns.h"

#include <fmt/format.h>

namespace onepass::common {
namespace {

/// The warps of a block never meet: only the sum of warp 0 arrives.
LostColumns one_warp_only(std::int64_t threads) {
  return {"one-warp-only",
          "This is the sum over the first warp's columns only: each warp has the sum of its own 32 "
          "lanes, and the warps' sums are never added up. Let them meet in shared memory.",
          [threads](std::int64_t col, std::int64_t) { return col % threads < 32; }};
}

/// The lanes of a warp never meet: only the share of thread 0 arrives.
LostColumns one_thread_only(std::int64_t threads) {
  return {"one-warp-only",
          "This is the sum over the columns of thread 0 only: the other lanes' shares are never "
          "added to it.",
          [threads](std::int64_t col, std::int64_t) { return col % threads == 0; }};
}

/// The warps meet, but each brings lane 0's share instead of its sum.
LostColumns one_lane_of_each_warp(std::int64_t threads) {
  return {"one-warp-only",
          "This is the sum over the columns of each warp's lane 0 only: add up the 32 lanes of a "
          "warp before the warps meet.",
          [threads](std::int64_t col, std::int64_t) { return col % threads % 32 == 0; }};
}

/// `if (threadIdx.x < cols)` where a loop over the columns should be.
LostColumns no_stride_loop(std::int64_t threads) {
  return {
      "no-stride-loop",
      fmt::format("This is the sum over the first {0} columns only: a row may have more columns "
                  "than the block has threads, so each thread has to go on to column "
                  "threadIdx.x + {0}, and so on.",
                  threads),
      [threads](std::int64_t col, std::int64_t cols) { return cols > threads && col < threads; }};
}

/// Only whole groups of `group` columns are read.
LostColumns tail_dropped(std::int64_t group) {
  return {"tail-dropped",
          fmt::format("This is the sum without the last columns of the row: whole groups of {} "
                      "columns are counted, and what is left over at the end is not.",
                      group),
          [group](std::int64_t col, std::int64_t cols) { return col < cols / group * group; }};
}

LostColumns last_column_dropped() {
  return {"tail-dropped", "This is the sum without the last column of the row.",
          [](std::int64_t col, std::int64_t cols) { return col < cols - 1; }};
}

/// B / 32 rounded down: the lanes of a last, partial warp do not count.
LostColumns partial_warp_dropped(std::int64_t threads) {
  return {"partial-warp-dropped",
          fmt::format("This is the sum without the columns of a last, partial warp: {} threads are "
                      "{} whole warps and {} threads more. Round the number of warps up.",
                      threads, threads / 32, threads % 32),
          [threads](std::int64_t col, std::int64_t) { return col % threads < threads / 32 * 32; }};
}

/// A warp's sum that leaves its upper lanes out, as a butterfly with a step too few does.
LostColumns upper_lanes_dropped(std::int64_t lanes) {
  return {"one-warp-only",
          fmt::format("This is the sum over the first {} lanes of each warp only: a warp has 32 "
                      "lanes, so it takes five steps, 16, 8, 4, 2, 1.",
                      lanes),
          [lanes](std::int64_t col, std::int64_t) { return col % 32 < lanes; }};
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

LostColumns tree_drops_odd(std::int64_t threads) {
  return {
      "tree-needs-power-of-two",
      fmt::format("This is the sum without some threads' columns: halving {} threads comes to an "
                  "odd number, and the odd one is dropped. Use a power of two, or round up.",
                  threads),
      [threads](std::int64_t col, std::int64_t) { return reaches_slot_0(col % threads, threads); }};
}

}  // namespace

std::vector<LostColumns> lost_columns() {
  std::vector<LostColumns> all;
  for (std::int64_t threads : {256, 1024, 512, 128, 64}) {
    all.push_back(one_warp_only(threads));
  }
  for (std::int64_t threads : {256, 1024, 512, 128, 64, 32}) {
    all.push_back(no_stride_loop(threads));
    all.push_back(one_thread_only(threads));
    all.push_back(one_lane_of_each_warp(threads));
  }
  for (std::int64_t group : {2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}) {
    all.push_back(tail_dropped(group));
  }
  all.push_back(last_column_dropped());
  for (std::int64_t lanes : {16, 8}) {
    all.push_back(upper_lanes_dropped(lanes));
  }
  for (std::int64_t threads : {48, 80, 100, 180, 200, 250, 300, 500, 1000}) {
    all.push_back(partial_warp_dropped(threads));
  }
  for (std::int64_t threads : {96, 160, 192, 320, 384, 640, 768, 48, 80, 100, 180, 200}) {
    all.push_back(tree_drops_odd(threads));
  }
  return all;
}

}  // namespace onepass::common
