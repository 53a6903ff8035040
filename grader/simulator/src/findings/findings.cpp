#include "findings/findings.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace simulator {
namespace {

/// In either order: who came first is chance.
bool same_lines(const Finding& a, const Finding& b) {
  return std::is_permutation(
      a.parties.begin(), a.parties.end(), b.parties.begin(), b.parties.end(),
      [](const Party& p, const Party& q) { return p.line == q.line && p.file == q.file; });
}

Reach reach_of(const Finding& race) {
  const Party& first = race.parties.front();
  const Party& second = race.parties.back();
  const auto place = [](const Dim3& dim) { return std::make_tuple(dim.x, dim.y, dim.z); };
  if (place(first.block) != place(second.block)) return Reach::grid;
  return first.warp != second.warp ? Reach::block : Reach::warp;
}

int last_line(const Finding& finding) {
  int line = 0;
  for (const Party& party : finding.parties) line = std::max(line, party.line);
  return line;
}

bool is_alike(const Finding& a, const Finding& b) {
  if (a.kernel != b.kernel) return false;
  return (a.kind == b.kind && same_lines(a, b)) || (a.habit == b.habit && a.habit != Habit::none);
}

/// Of two that are alike, whether the first is to be told. A race that fails, then one that shows
/// in the values, then the wider one; of those that go through a kernel the one that comes first.
bool is_told_before(const Finding& race, const Finding& other) {
  const auto weight = [](const Finding& one) {
    return std::make_tuple(!one.warning, one.habit != Habit::same_value, reach_of(one));
  };
  if (!same_lines(race, other)) {
    return race.habit == Habit::lanes_in_step && last_line(race) < last_line(other);
  }
  return weight(race) > weight(other);
}

bool is_race(const Finding& finding) {
  return finding.kind == Kind::shared_race || finding.kind == Kind::global_race;
}

/// Threads that miss each other at a barrier or in a warp operation leave memory unordered, and a
/// race leaves it unwritten: so they are told in this order.
int rank_of_cause(const Finding& finding) {
  switch (finding.kind) {
    case Kind::barrier_divergence:
    case Kind::early_return:
    case Kind::deadlock:
    case Kind::bad_warp_mask:
      return 0;
    case Kind::shared_race:
    case Kind::global_race:
    case Kind::copy_not_awaited:
    case Kind::copy_overwritten:
    case Kind::cluster_lifetime:
    case Kind::early_begin:
      return 1;
    default:
      return 2;
  }
}

}  // namespace

void Findings::begin_launch() {
  told_.clear();
  launch_begin_ = findings_.size();
}

void Findings::end_launch() {
  const auto order = [](const Finding& finding) {
    return std::make_pair(finding.warning, rank_of_cause(finding));
  };
  std::stable_sort(findings_.begin() + static_cast<std::ptrdiff_t>(launch_begin_), findings_.end(),
                   [&](const Finding& a, const Finding& b) { return order(a) < order(b); });
}

bool Findings::is_first(Kind kind, CodeAddress site, CodeAddress other, Reach reach,
                        bool as_warning) {
  return told_.emplace(kind, site, other, reach, as_warning).second;
}

void Findings::add(Finding finding) {
  const auto known = std::find_if(findings_.begin(), findings_.end(),
                                  [&](const Finding& other) { return is_alike(other, finding); });
  if (known != findings_.end()) {
    if (is_race(finding) && is_told_before(finding, *known)) *known = std::move(finding);
    return;
  }
  if (findings_.size() < kMost) {
    findings_.push_back(std::move(finding));
  } else if (launch_begin_ < kMost && rank_of_cause(finding) == 0) {
    findings_.back() = std::move(finding);  // a cause is worth more than the last of its effects
  }
}

void Findings::withdraw_reads(const std::set<CodeAddress>& places) {
  const auto begin = findings_.begin() + static_cast<std::ptrdiff_t>(launch_begin_);
  // By lines: a function that is inlined twice has two places for one.
  const auto is_there = [&](const Finding& finding) {
    return finding.plain_read != 0 &&
           std::any_of(places.begin(), places.end(), [&](CodeAddress place) {
             return source_line(place) == source_line(finding.plain_read);
           });
  };
  findings_.erase(std::remove_if(begin, findings_.end(), is_there), findings_.end());
}

std::vector<Finding> Findings::take() {
  launch_begin_ = 0;
  told_.clear();  // of host code between launches: the next call is told its own
  return std::exchange(findings_, {});
}

}  // namespace simulator
