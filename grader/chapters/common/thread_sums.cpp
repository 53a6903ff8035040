// What each thread of a block holds after a reduction that went wrong.
#include "chapters/common/thread_sums.h"

#include <algorithm>
#include <numeric>
#include <string_view>

namespace onepass::common {
namespace {

using Values = std::vector<double>;  // one a thread

constexpr std::size_t kLanes = 32;

/// Steps of __shfl_xor_sync. With all five, 16 to 1, every lane has its warp's sum.
template <std::size_t first = kLanes / 2, std::size_t last = 1>
Values shuffle_xor(const Values& shares) {
  Values values = shares;
  for (std::size_t offset = first; offset >= last; offset /= 2) {
    const Values before = values;
    for (std::size_t thread = 0; thread < values.size(); ++thread) {
      values[thread] += before[thread ^ offset];
    }
  }
  return values;
}

/// Five steps of __shfl_down_sync: only lane 0 has its warp's sum. A lane that looks past the end
/// of the warp gets its own value.
Values shuffle_down(const Values& shares) {
  Values values = shares;
  for (std::size_t offset = kLanes / 2; offset > 0; offset /= 2) {
    const Values before = values;
    for (std::size_t thread = 0; thread < values.size(); ++thread) {
      const bool inside = thread % kLanes + offset < kLanes;
      values[thread] += before[inside ? thread + offset : thread];
    }
  }
  return values;
}

/// Each warp's lane w holds the sum of warp w, the others 0: the slots, read by every warp.
Values slots(const Values& warp_sums) {
  const std::size_t warps = warp_sums.size() / kLanes;
  Values values(warp_sums.size(), 0.0);
  for (std::size_t thread = 0; thread < values.size(); ++thread) {
    const std::size_t lane = thread % kLanes;
    values[thread] = lane < warps ? warp_sums[lane * kLanes] : 0.0;
  }
  return values;
}

Values unchanged(const Values& shares) {
  return shares;
}

Values cleared(const Values& shares) {
  return Values(shares.size(), 0.0);
}

/// The first `count` threads have the total, the others what is in `otherwise`.
template <std::size_t count, Values (*otherwise)(const Values&)>
Values known_to_first(const Values& shares) {
  Values values = otherwise(shares);
  std::fill_n(values.begin(), std::min(count, values.size()),
              std::accumulate(shares.begin(), shares.end(), 0.0));
  return values;
}

const char* const kDown =
    "After __shfl_down_sync only lane 0 holds the sum, and the other lanes used theirs: use "
    "__shfl_xor_sync, which gives it to all lanes, or hand lane 0's result on through shared "
    "memory.";
const char* const kFirstThread =
    "Only thread 0 knows the total, and the other threads used what they had: hand it on through "
    "shared memory, with a barrier before it is read.";
const char* const kFirstWarp =
    "Only the first warp knows the total, and the other warps used their own sums: hand it on "
    "through shared memory, with a barrier before it is read.";
const char* const kOwnWarp =
    "Each warp used the sum over its own columns for the sum over the row: the warps' sums have to "
    "meet in shared memory.";
const char* const kOwnShare =
    "Each thread used its own share for the sum over the row: the shares have to be added up over "
    "the block.";

const char* const kStep =
    "A step of the shuffles is missing, and each lane has the sum of some of the lanes only: 32 "
    "lanes take five, 16, 8, 4, 2, 1.";

/// Steps are missing within the warps and where the warps meet; within the warps only; and where
/// there is one warp.
template <std::size_t first, std::size_t last>
Values incomplete_twice(const Values& shares) {
  return shuffle_xor<first, last>(slots(shuffle_xor<first, last>(shares)));
}
template <std::size_t first, std::size_t last>
Values incomplete_in_warps(const Values& shares) {
  return shuffle_xor<>(slots(shuffle_xor<first, last>(shares)));
}

struct Reduction {
  const char* mistake;
  const char* sentence;
  Values (*reduce)(const Values& shares);
};

const Reduction kReductions[] = {
    {"shuffle-down-result", kDown,
     [](const Values& shares) { return shuffle_down(slots(shuffle_down(shares))); }},
    {"shuffle-down-result", kDown,
     [](const Values& shares) { return shuffle_down(slots(shuffle_xor<>(shares))); }},
    {"shuffle-down-result", kDown, shuffle_down},
    {"sum-not-broadcast", kFirstThread, known_to_first<1, shuffle_xor<>>},
    {"sum-not-broadcast", kFirstThread, known_to_first<1, shuffle_down>},
    {"sum-not-broadcast", kFirstThread, known_to_first<1, unchanged>},
    {"sum-not-broadcast", kFirstThread, known_to_first<1, cleared>},
    {"sum-not-broadcast", kFirstWarp, known_to_first<kLanes, shuffle_xor<>>},
    {"sum-not-broadcast", kFirstWarp, known_to_first<kLanes, shuffle_down>},
    {"sum-not-broadcast", kFirstWarp, known_to_first<kLanes, unchanged>},
    {"sum-not-broadcast", kFirstWarp, known_to_first<kLanes, cleared>},
    {"shuffle-step-missing", kStep, incomplete_twice<16, 2>},
    {"shuffle-step-missing", kStep, incomplete_in_warps<16, 2>},
    {"shuffle-step-missing", kStep, shuffle_xor<16, 2>},
    {"shuffle-step-missing", kStep, incomplete_twice<8, 1>},
    {"shuffle-step-missing", kStep, incomplete_in_warps<8, 1>},
    {"shuffle-step-missing", kStep, shuffle_xor<8, 1>},
    {"one-warp-only", kOwnWarp, shuffle_xor<>},
    {"one-warp-only", kOwnShare, unchanged},
};

}  // namespace

Table<ThreadSums> thread_sums(const std::vector<std::int64_t>& numbers) {
  std::vector<Table<ThreadSums>> all;
  for (const std::int64_t threads : numbers) {
    for (const Reduction& reduction : kReductions) {
      // Elements of vectors that are lost may look like lanes.
      const bool everywhere = std::string_view(reduction.mistake) == "shuffle-step-missing";
      all.push_back(
          {{reduction.mistake,
            {{reduction.sentence, {threads, reduction.reduce}, {}, {}, everywhere, true}}}});
    }
  }
  return joined(all);
}

}  // namespace onepass::common
