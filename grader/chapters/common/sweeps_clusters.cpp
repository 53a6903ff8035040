// The sweep over calls that a launcher takes in clusters, on a device that has none.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "chapters/common/asked.h"

namespace onepass::common {

namespace contract = verdict::contract;
using verdict::session;

namespace {

constexpr std::int64_t kMostInClusters = 1 << 18;
constexpr std::int64_t kVectorApart = 8;  // whole vectors of every type
// Rows of which a group has several, and how wide they may be for the simulator.
constexpr std::int64_t kSummed = 131, kMostSummedColumns = 1 << 15;

/// Numbers of a size that a launcher takes in clusters, each with the kernels of its launches.
struct InClusters {
  contract::Size size;
  Dtype dtype;
  bool is_odd;
  std::map<std::int64_t, std::set<std::string>> kernels;

  Asked asked(const Function& function) const { return {function, dtype, size.name, is_odd}; }
  std::int64_t last() const { return kernels.rbegin()->first; }
};

std::vector<InClusters> doublings_in_clusters(const Function& function) {
  std::vector<InClusters> all;
  const Dtype half = kSixteenBit[session().random().bits(12) % kSixteenBit.size()];
  for (const contract::Size& size : sizes_to_try(function)) {
    for (const Dtype dtype : {Dtype::fp32, half}) {
      for (const bool is_odd : {false, true}) {
        InClusters each = {size, dtype, is_odd, {}};
        const Asked asked = each.asked(function);
        for (const std::int64_t step : asked.doublings(std::min(size.most, kMostInClusters))) {
          if (const Launches& launches = asked.launches_at(step); any_in_clusters(launches)) {
            each.kernels.emplace(asked.number(step), kernels_of(launches));
          }
        }
        if (!each.kernels.empty()) {
          all.push_back(each);
        }
      }
    }
  }
  return all;
}

/// On a device without clusters: has the launcher another kernel for any of them, or clusters of
/// another shape?
bool chooses_others(const Function& function, const InClusters& in_clusters) {
  const Asked asked = in_clusters.asked(function);
  return std::any_of(in_clusters.kernels.begin(), in_clusters.kernels.end(), [&](const auto& each) {
    const std::set<std::string> there = kernels_of(asked.launches(each.first));
    return !there.empty() && there != each.second;
  });
}

/// Each tensor that has a stride has another one, and whole vectors between its rows.
Arrangement rows_apart(const Function& function) {
  Arrangement apart;
  std::int64_t gap = 0;
  for (const contract::Tensor& tensor : function.tensors) {
    if (tensor.traits.strided) {
      apart.places[tensor.name].gap = gap += kVectorApart;
    }
  }
  return apart;
}

}  // namespace

void check_without_clusters(const Function& function, const CheckCall& check) {
  const std::vector<InClusters> all = doublings_in_clusters(function);
  const verdict::Session::WithoutClusters without(session());
  if (std::none_of(all.begin(), all.end(),
                   [&](const InClusters& each) { return chooses_others(function, each); })) {
    return;
  }
  std::set<std::set<std::string>> seen;
  for (const InClusters& each : all) {
    const std::int64_t few = is_limited(each.size) ? 2 : 3;  // wide rows take long
    for (const auto& [number, kernels] : each.kernels) {
      const bool is_new = seen.insert(kernels_of(each.asked(function).launches(number))).second;
      const bool are_summed = is_new && is_limited(each.size) && number <= kMostSummedColumns;
      if (is_new || number == each.last()) {
        check(call(function, each.dtype,
                   {.sizes = with_large(function, each.size.name, number,
                                        are_summed ? kSummed : few, kOtherWidth),
                    .seed = session().random().bits(13)},
                   rows_apart(function)));
      }
    }
  }
}

}  // namespace onepass::common
