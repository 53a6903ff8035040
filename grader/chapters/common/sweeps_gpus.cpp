// Wide calls: the eps of each kernel, and what is launched on a GPU without clusters.
#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "chapters/common/asked.h"

namespace onepass::common {

namespace contract = verdict::contract;
using verdict::session;

namespace {

constexpr int kWithoutClusters = 80;  // the compute capability of a GPU
constexpr std::int64_t kWidths[] = {8'208, 33'040, 131'088};
constexpr std::int64_t kRows = 3;

/// Wide rows, of whole vectors and not, in two types.
std::vector<Case> wide_calls(const Function& function) {
  std::vector<Case> calls;
  for (const contract::Size& size : sizes_to_try(function)) {
    for (const std::int64_t width : kWidths) {
      for (const std::int64_t odd : {0, 1}) {
        if (is_shared(function, size)) {
          const std::int64_t number = std::min(width, size.most) - odd;
          const Dtype dtype = odd == 0 ? Dtype::bf16 : Dtype::fp32;
          calls.push_back(call(function, dtype,
                               {.sizes = with_large(function, size.name, number, kRows, 4),
                                .seed = session().random().bits(13)}));
        }
      }
    }
  }
  return calls;
}

/// Each kernel has its own eps: one call of each, with numbers so small that eps counts.
void check_eps_of_kernels(const std::vector<Case>& calls, const CheckCall& check) {
  std::set<std::set<std::string>> seen;
  for (const Case& call : calls) {
    const std::optional<Case> small = near_zero(call);
    if (small && seen.insert(kernels_of(session().launches_of(call))).second) {
      check(*small);
    }
  }
}

}  // namespace

void check_without_clusters(const Function& function, const CheckCall& check) {
  if (session().device() != "cpu") {
    return;
  }
  std::vector<Case> calls = wide_calls(function);
  check_eps_of_kernels(calls, check);
  calls.erase(std::remove_if(
                  calls.begin(), calls.end(),
                  [](const Case& call) { return !any_in_clusters(session().launches_of(call)); }),
              calls.end());
  const verdict::Session::OtherGeneration other(session(), kWithoutClusters);
  const bool asks = std::any_of(calls.begin(), calls.end(), [](const Case& call) {
    const verdict::Session::Launches& there = session().launches_of(call);
    return !there.empty() && !any_in_clusters(there);
  });
  if (asks) {  // others are written for GPUs with clusters
    std::for_each(calls.begin(), calls.end(), check);
    check_eps_of_kernels(calls, check);
  }
}

}  // namespace onepass::common
