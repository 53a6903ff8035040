// What each thread of a block holds after a reduction that went wrong.
#include "chapters/common/thread_sums.h"

#include <numeric>

namespace onepass::common {
namespace {

using Values = std::vector<double>;  // one a thread

constexpr std::size_t kLanes = 32;

/// Five steps of __shfl_xor_sync: every lane has its warp's sum.
Values shuffle_xor(const Values& values) {
  Values sums(values.size());
  for (std::size_t first = 0; first < values.size(); first += kLanes) {
    double sum = 0.0;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      sum += values[first + lane];
    }
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      sums[first + lane] = sum;
    }
  }
  return sums;
}

/// Five steps of __shfl_down_sync: only lane 0 has its warp's sum. A lane that looks past the end
/// of the warp gets its own value.
Values shuffle_down(Values values) {
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

double total(const Values& shares) {
  return std::accumulate(shares.begin(), shares.end(), 0.0);
}

/// The first `count` threads have the total, the others what is in `otherwise`.
Values known_to_first(std::size_t count, double sum, Values otherwise) {
  for (std::size_t thread = 0; thread < count && thread < otherwise.size(); ++thread) {
    otherwise[thread] = sum;
  }
  return otherwise;
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

Mistake<ThreadSums> shuffle_down_result(std::int64_t threads) {
  return {
      "shuffle-down-result",
      {{kDown,
        {threads, [](const Values& shares) { return shuffle_down(slots(shuffle_down(shares))); }}},
       {kDown,
        {threads, [](const Values& shares) { return shuffle_down(slots(shuffle_xor(shares))); }}},
       {kDown, {threads, [](const Values& shares) { return shuffle_down(shares); }}}}};
}

Mistake<ThreadSums> sum_not_broadcast(std::int64_t threads) {
  Mistake<ThreadSums> mistake{"sum-not-broadcast", {}};
  for (std::size_t first : {std::size_t{1}, kLanes}) {
    const auto others_have = [&](auto otherwise) {
      mistake.ways.push_back({first == 1 ? kFirstThread : kFirstWarp,
                              {threads, [=](const Values& shares) {
                                 return known_to_first(first, total(shares), otherwise(shares));
                               }}});
    };
    others_have(shuffle_xor);
    others_have(shuffle_down);
    others_have([](const Values& shares) { return shares; });
    others_have([](const Values& shares) { return Values(shares.size(), 0.0); });
  }
  return mistake;
}

Mistake<ThreadSums> own_sums(std::int64_t threads) {
  return {"one-warp-only",
          {{kOwnWarp, {threads, shuffle_xor}},
           {kOwnShare, {threads, [](const Values& shares) { return shares; }}}}};
}

}  // namespace

Table<ThreadSums> thread_sums() {
  std::vector<Table<ThreadSums>> all;
  for (std::int64_t threads : {256, 1024, 512, 128, 64, 32}) {
    all.push_back({shuffle_down_result(threads), sum_not_broadcast(threads), own_sums(threads)});
  }
  return joined(all);
}

}  // namespace onepass::common
