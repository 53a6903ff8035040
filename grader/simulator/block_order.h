// A header of its own: the protocol between the processes of the grader needs no more.
#pragma once

#include <algorithm>
#include <cstdint>

namespace simulator {

/// In which order the blocks of a launch run: their numbers rising, x fastest; falling; or shuffled
/// by a seed, where also the last thread of a block goes first, and a block that has done an atomic
/// operation lets others run. CUDA promises none.
enum class BlockOrder { rising, falling, shuffled };

/// A grid with one long side, whose others have `across` blocks together: few, or 1 if they are not
/// looked at. Of number n in the grid, n % below is the place in the sides before the long one.
struct LongSide {
  std::uint64_t length, across, below;
};
constexpr LongSide long_side(std::uint64_t x, std::uint64_t y, std::uint64_t z) {
  constexpr std::uint64_t kFew = 4;
  const LongSide side = x >= y && x >= z ? LongSide{x, y * z, 1}
                        : y >= z         ? LongSide{y, x * z, x}
                                         : LongSide{z, x * y, x * y};
  return side.across <= kFew ? side : LongSide{x * y * z, 1, 1};
}

/// How many blocks of `threads` threads run at most, if a sample of `most` is asked for: so many of
/// up to 128 threads. Of larger ones fewer, which have as many threads, but no fewer than 4. At
/// each place of a long side they are all that lie across, for they may work together.
constexpr std::uint64_t blocks_of_sample(std::uint64_t most, const LongSide& side,
                                         std::uint64_t threads) {
  constexpr std::uint64_t kThreads = 128, kFewest = 4;
  const std::uint64_t as_many_threads = (most * kThreads + threads - 1) / threads;
  return std::min({most, std::max(kFewest, as_many_threads), side.length}) * side.across;
}

}  // namespace simulator
