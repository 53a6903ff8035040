// Ways to leave columns out of a row's sum. Thread t of B sees columns t, t + B, t + 2 B, ...
#include "chapters/common/lost_columns.h"

#include <fmt/format.h>

#include <algorithm>

namespace onepass::common {
namespace {

/// Does a column's share reach slot 0, when `for (n = B / 2; n > 0; n /= 2)` adds slot t + n to
/// slot t for t < n, and thread t has columns t, t + B, ...?
bool reaches_slot_0(std::int64_t col, std::int64_t threads) {
  std::int64_t thread = col % threads;
  for (std::int64_t half = threads / 2; half > 0; half /= 2) {
    if (thread >= 2 * half) {
      return false;
    }
    thread %= half;
  }
  return thread == 0;
}

/// Do the threads of some block have n columns in a turn, one each? A warp may have a row.
bool have_one_each(const std::vector<verdict::LaunchSize>& launches, std::int64_t, std::int64_t n) {
  return launches.empty() || n == 32 ||
         std::any_of(launches.begin(), launches.end(),
                     [&](const auto& launch) { return launch.threads_x == n; });
}

/// Does a row of so many columns take as many warps as some block has, if each has n neighbours?
bool have_neighbours(const std::vector<verdict::LaunchSize>& launches, std::int64_t cols,
                     std::int64_t n) {
  return !have_one_each(launches, cols, n) &&
         std::any_of(launches.begin(), launches.end(), [&](const auto& launch) {
           return launch.threads_x > 32 && (cols + n - 1) / n == launch.threads_x / 32;
         });
}

const char* const kOfFirstWarp =
    "This is the sum over the first warp's {column}s only: each warp has the sum of its own 32 "
    "lanes, and the warps' sums are never added up. Let them meet in shared memory.";

// A butterfly of a warp whose lanes have vectors of so many columns, without its first steps, which
// in a row of one warp is a dropped tail; without its last ones, in the warps, and where it is used
// for them too.
template <std::int64_t vector>
bool is_of_first_lanes(std::int64_t col, std::int64_t cols, std::int64_t lanes) {
  return cols <= 32 * vector || col / vector % 32 < lanes;
}
template <std::int64_t vector>
bool is_of_every_nth_lane(std::int64_t col, std::int64_t, std::int64_t n) {
  return col / vector % n == 0;
}
template <std::int64_t vector>
bool is_of_every_nth_warp(std::int64_t col, std::int64_t, std::int64_t n) {
  return col / vector % n == 0 && col / vector / 32 % n == 0;
}

/// A lane takes part wherever x begins, and whatever its type: else columns are missing.
template <std::int64_t vector>
std::vector<Loss> missing_steps() {
  return {
      {"shuffle-step-missing",
       {16, 8},
       "This is the sum over the first {n} lanes of each warp only: a warp has 32 lanes, so it "
       "takes five steps, 16, 8, 4, 2, 1.",
       is_of_first_lanes<vector>,
       {},
       true},
      {"shuffle-step-missing",
       {2, 4},
       "This is the sum over every {n}th lane of each warp only: a warp has 32 lanes, so it "
       "takes five steps, 16, 8, 4, 2, 1.",
       is_of_every_nth_lane<vector>,
       {},
       true},
      {"shuffle-step-missing",
       {2, 4},
       "This is the sum over every {n}th lane of every {n}th warp only: 32 lanes, and 32 slots, "
       "take five steps, 16, 8, 4, 2, 1.",
       is_of_every_nth_warp<vector>,
       {},
       true}};
}

/// Of `blocks` that share a row each has as many vectors at once as it has threads.
template <std::int64_t blocks, std::int64_t vector>
Loss one_block_of() {
  return {
      "one-part-only",
      {128, 256, 512, 1024},
      "This is the sum over one block's {column}s only, {n} threads' of each turn: where several "
      "blocks share a {row}, as in a cluster, their sums have to meet.",
      [](auto col, auto, auto threads) { return col / vector / threads % blocks == 0; }};
}

const std::vector<Loss> kLostParts = {
    one_block_of<2, 1>(),
    one_block_of<4, 1>(),
    one_block_of<8, 1>(),
    one_block_of<2, 4>(),
    one_block_of<4, 4>(),
    one_block_of<8, 4>(),
    one_block_of<2, 8>(),
    one_block_of<4, 8>(),
    one_block_of<8, 8>(),
    {"one-part-only",
     {2048, 4096, 8192, 16384, 32768},
     "This is the sum over the first {n} {column}s only: those behind, which other blocks of a "
     "cluster may have, or the same threads later, are never added to it.",
     [](auto col, auto, auto most) { return col < most; }},
    {"one-part-only",
     {2, 4, 8},
     "This is the sum over the first of {n} equal parts of the {row} only: where {n} blocks share "
     "a {row}, "
     "as in a cluster, their sums have to meet.",
     [](auto col, auto cols, auto parts) { return col < (cols + parts - 1) / parts; }}};

const std::vector<Loss> kLostLanes = {
    // The shares of a warp's lanes, or of the warps, are never all added up.
    {"one-warp-only",
     {256, 1024, 512, 128, 64},
     kOfFirstWarp,
     [](auto col, auto, auto threads) { return col % threads < 32; }},
    {"one-warp-only",
     {256, 1024, 512, 128, 64},
     kOfFirstWarp,
     [](auto col, auto cols, auto threads) { return cols % 4 == 0 && col / 4 % threads < 32; }},
    {"one-warp-only",
     {256, 1024, 512, 128, 64},
     kOfFirstWarp,
     [](auto col, auto cols, auto threads) { return cols % 8 == 0 && col / 8 % threads < 32; }},
    {"one-warp-only",
     {256, 512, 1024, 128, 64},
     kOfFirstWarp,
     [](auto col, auto, auto neighbours) { return col < neighbours; },
     {},
     false,
     have_neighbours},
    {"one-warp-only",
     {256, 1024, 512, 128, 64},
     "This is the sum over the {column}s of thread 0 only: the other lanes' shares are never added "
     "to it.",
     [](auto col, auto, auto threads) { return col % threads == 0; }},
    {"one-warp-only",
     {32},
     "This is the sum over the {column}s of each warp's lane 0 only: add up the 32 lanes of a warp "
     "before the warps meet.",
     [](auto col, auto, auto lanes) { return col % lanes == 0; }},
};

const std::vector<Loss> kLostEnds = {
    // `if (threadIdx.x < cols)` where a loop over the columns should be.
    {"no-stride-loop",
     {256, 1024, 512, 128, 64, 32},
     "This is the sum over the first {n} {column}s only: a {row} may have more {column}s than the "
     "block has threads, so each thread has to go on to {column} threadIdx.x + {n}, and so on.",
     [](auto col, auto, auto threads) { return col < threads; },
     {},
     false,
     have_one_each},
    {"tail-dropped",
     {2, 4, 8, 16, 32, 64, 128, 256, 512, 1024},
     "This is the sum without the last {column}s of the {row}: whole groups of {n} {column}s are "
     "counted, and what is left over at the end is not.",
     [](auto col, auto cols, auto group) { return col < cols / group * group; }},
    {"tail-dropped",
     {1},
     "This is the sum without the last {column} of the {row}.",
     [](auto col, auto cols, auto last) { return col < cols - last; }},
    // B / 32 rounded down: the lanes of a last, partial warp do not count.
    {"partial-warp-dropped",
     {48, 80, 100, 180, 200, 250, 300, 500, 1000},
     "This is the sum without the {column}s of a last, partial warp: {n} threads are {warps} whole "
     "warps and {rest} threads more. Round the number of warps up.",
     [](auto col, auto, auto threads) { return col % threads < threads / 32 * 32; }},
    {"tree-needs-power-of-two",
     {96, 160, 192, 320, 384, 640, 768, 48, 80, 100, 180, 200},
     "This is the sum without some threads' {column}s: halving {n} threads comes to an odd number, "
     "and the odd one is dropped. Use a power of two, or round up.",
     [](auto col, auto, auto threads) { return reaches_slot_0(col, threads); }},
    // As many threads as there are columns, or enough warps for them, up to n.
    {"tree-needs-power-of-two",
     {1024, 512, 256, 128},
     "This is the sum without some threads' {column}s: halving the number of threads, which goes "
     "with that of the {column}s, comes to an odd number, and the odd one is dropped. Use a power "
     "of two, or round up.",
     [](auto col, auto cols, auto most) { return reaches_slot_0(col, std::min(most, cols)); }},
    {"tree-needs-power-of-two",
     {1024, 512, 256, 128},
     "This is the sum without some threads' {column}s: halving the number of threads, 32 for each "
     "warp that the {row} needs, comes to an odd number, and the odd one is dropped. Use a power "
     "of two, or round up.",
     [](auto col, auto cols, auto most) {
       return reaches_slot_0(col, std::min(most, (cols + 31) / 32 * 32));
     }},
};

/// Elements of a vector that were not fetched, or not added up. What fills no vector counts.
template <std::int64_t of>
Loss part_of_vectors(const std::vector<std::int64_t>& numbers, const char* sentence) {
  return {"vector-partly-used",
          numbers,
          sentence,
          [](auto col, auto cols, auto n) { return col % of < n || col >= cols / of * of; },
          {verdict::kSlack, verdict::unaligned}};
}

}  // namespace

Table<Counted> ways_to_lose(const std::vector<Loss>& losses, const RowWords& words) {
  std::vector<Table<Counted>> all;
  for (const Loss& loss : losses) {
    std::vector<Way<Counted>> ways;
    for (std::int64_t n : loss.numbers) {
      ways.push_back({fmt::format(fmt::runtime(loss.sentence), fmt::arg("n", n),
                                  fmt::arg("warps", n / 32), fmt::arg("rest", n % 32),
                                  fmt::arg("row", words.row), fmt::arg("column", words.column)),
                      [counted = loss.counted, n](std::int64_t col, std::int64_t cols) {
                        return counted(col, cols, n);
                      },
                      loss.noise,
                      {},
                      loss.everywhere});
      if (loss.fits != nullptr) {
        ways.back().of_rows = [loss, n](const verdict::WrongRows& wrong) -> Counted {
          return [loss, n, launches = wrong.launches](std::int64_t col, std::int64_t cols) {
            return !loss.fits(launches, cols, n) || loss.counted(col, cols, n);
          };
        };
      }
    }
    all.push_back({{loss.mistake, ways}});
  }
  return joined(all);
}

Table<Counted> parts_of_vectors(const RowWords& words) {
  return ways_to_lose(
      {part_of_vectors<4>({1, 2, 3},
                          "Only {n} of every 4 {column}s counted, those that begin a "
                          "vector: fetch all of it, and add up all of its elements."),
       part_of_vectors<8>({1, 2, 4, 6, 7},
                          "Only {n} of every 8 {column}s counted, those that begin a vector: fetch "
                          "all of it, and add up all of its elements."),
       part_of_vectors<2>({1},
                          "Only {n} of every 2 {column}s counted, that which begins a vector: "
                          "fetch all of it, and add up all of its elements.")},
      words);
}

Table<Counted> lost_columns(const RowWords& words) {
  std::vector<Loss> all;
  for (const std::vector<Loss>& losses :
       {kLostLanes, missing_steps<1>(), missing_steps<4>(), missing_steps<8>(), missing_steps<2>(),
        kLostEnds, kLostParts}) {
    all.insert(all.end(), losses.begin(), losses.end());
  }
  return joined<Counted>({ways_to_lose(all, words), parts_of_vectors(words)});
}

}  // namespace onepass::common
