#include "findings.h"

#include <algorithm>
#include <utility>

namespace simulator {
namespace {

bool same_lines(const Finding& a, const Finding& b) {
  return a.parties.size() == b.parties.size() &&
         std::equal(
             a.parties.begin(), a.parties.end(), b.parties.begin(),
             [](const Party& p, const Party& q) { return p.line == q.line && p.file == q.file; });
}

}  // namespace

bool Findings::is_first(Kind kind, CodeAddress site, CodeAddress other) {
  return told_.emplace(kind, site, other).second;
}

void Findings::add(Finding finding) {
  const bool known = std::any_of(findings_.begin(), findings_.end(), [&](const Finding& other) {
    return other.kind == finding.kind && other.kernel == finding.kernel &&
           same_lines(other, finding);
  });
  if (!known && findings_.size() < kMost) {
    findings_.push_back(std::move(finding));
  }
}

std::vector<Finding> Findings::take() {
  return std::exchange(findings_, {});
}

Findings& findings() {
  static Findings list;
  return list;
}

const char* kind_name(Kind kind) {
  switch (kind) {
    case Kind::out_of_bounds_global:
      return "out-of-bounds-global";
    case Kind::out_of_bounds_shared:
      return "out-of-bounds-shared";
    case Kind::out_of_bounds_local:
      return "out-of-bounds-local";
    case Kind::use_after_free:
      return "use-after-free";
    case Kind::null_pointer:
      return "null-pointer";
    case Kind::host_pointer:
      return "host-pointer";
    case Kind::device_pointer:
      return "device-pointer";
    case Kind::misaligned:
      return "misaligned";
    case Kind::uninitialised_shared:
      return "uninitialised-shared";
    case Kind::uninitialised_global:
      return "uninitialised-global";
    case Kind::barrier_divergence:
      return "barrier-divergence";
    case Kind::early_return:
      return "early-return";
    case Kind::deadlock:
      return "deadlock";
    case Kind::bad_warp_mask:
      return "bad-warp-mask";
    case Kind::inactive_lane_read:
      return "inactive-lane-read";
    case Kind::endless_loop:
      return "endless-loop";
    case Kind::stack_overflow:
      return "stack-overflow";
    case Kind::invalid_launch:
      return "invalid-launch";
    case Kind::assertion:
      return "assert";
    case Kind::trap:
      return "trap";
    case Kind::shared_race:
      return "shared-race";
    case Kind::global_race:
      return "global-race";
  }
  return "unknown";
}

}  // namespace simulator
