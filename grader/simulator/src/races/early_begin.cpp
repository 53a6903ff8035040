#include "races/early_begin.h"

#include <algorithm>
#include <utility>

#include "findings/texts.h"
#include "memory/names.h"

namespace simulator {

namespace {

// Of a long chain of kernels none of which waits before it triggers, how many are looked at.
constexpr std::ptrdiff_t kMostBefore = 4;

}  // namespace

bool EarlyBegin::Block::any_has_waited() const {
  return std::find(have_waited.begin(), have_waited.end(), true) != have_waited.end();
}

void EarlyBegin::on(const BlockBegin& event) {
  if (launch_.may_begin_early) {
    blocks_.begin(event) = {std::vector<bool>(event.threads, false), false};
  }
}

void EarlyBegin::on(const BlockEnd&) {
  if (!launch_.may_begin_early) return;
  const Block& block = blocks_.running();
  if (!block.has_triggered && block.any_has_waited()) waits_before_next_ = true;
}

void EarlyBegin::on(const PrimaryAwaited& event) {
  if (!launch_.may_begin_early) return;
  blocks_.running().have_waited[event.thread] = some_wait_ = true;
}

void EarlyBegin::on(const DependentsTriggered& event, std::uint64_t number,
                    std::uint32_t phase_begin) {
  triggered_.try_emplace(number, phase_begin);
  if (!launch_.may_begin_early) return;
  Block& block = blocks_.running();
  block.has_triggered = true;
  if (block.have_waited[event.thread]) waits_before_next_ = true;
}

void EarlyBegin::on(const BarrierMet&) {
  if (!launch_.may_begin_early) return;
  Block& block = blocks_.running();
  if (block.any_has_waited()) block.have_waited.assign(block.have_waited.size(), true);
}

void EarlyBegin::on(const SyncwarpMet& event) {
  if (!launch_.may_begin_early) return;
  std::vector<bool>& threads = blocks_.running().have_waited;
  bool any = false;
  const auto each_lane = [&](auto act) {
    for (unsigned left = event.lanes; left != 0; left &= left - 1) {
      act(event.warp * 32 + static_cast<unsigned>(__builtin_ctz(left)));
    }
  };
  each_lane([&](unsigned thread) { any = any || threads[thread]; });
  if (any) each_lane([&](unsigned thread) { threads[thread] = true; });
}

void EarlyBegin::keep_for_next(std::vector<LaunchBefore>& before, std::uint32_t first_interval,
                               std::vector<Ordering::Interval> intervals) {
  for (LaunchBefore& each : before) {
    const bool ends_for_who_waits = each.has_ended_behind_wait;
    each.has_ended |= !launch_.may_begin_early || (waits_before_next_ && ends_for_who_waits);
    each.has_ended_behind_wait =
        each.has_ended || each.triggered.empty() || (some_wait_ && ends_for_who_waits);
  }
  auto kept = std::find_if(before.begin(), before.end(),
                           [](const LaunchBefore& each) { return !each.has_ended; });
  if (before.end() - kept >= kMostBefore) ++kept;
  before.erase(before.begin(), kept);
  before.push_back({.launch = launch_,
                    .first_interval = first_interval,
                    .intervals = std::move(intervals),
                    .waits = some_wait_,
                    .triggered = std::move(triggered_)});
}

bool EarlyBegin::all_have_ended() const {
  return std::all_of(before_.begin(), before_.end(),
                     [](const LaunchBefore& each) { return each.has_ended_behind_wait; });
}

const LaunchBefore* EarlyBegin::launch_of(const AccessRecord& record, bool has_waited) const {
  for (const LaunchBefore& launch : before_) {
    const std::uint32_t index = record.interval() - launch.first_interval;
    if (record.interval() < launch.first_interval || index >= launch.intervals.size()) continue;
    if (!has_waited) return launch.has_ended ? nullptr : &launch;
    const auto triggered = launch.triggered.find(launch.intervals[index].block);
    const bool is_late =
        triggered != launch.triggered.end() && record.interval() >= triggered->second;
    return is_late && !launch.has_ended_behind_wait ? &launch : nullptr;
  }
  return nullptr;
}

void EarlyBegin::check(const AccessEvent& event, const RaceShadow& shadow, std::uint64_t block) {
  const bool has_waited = all_wait_ || blocks_.running().have_waited[event.thread];
  if (has_waited && all_have_ended()) return;
  const bool is_read = event.access.type == AccessType::read || event.access.is_load;
  bool is_told = false;
  shadow.each_record(event, [&](const AccessRecord& earlier, AccessType type) {
    const bool harmless = is_read && type == AccessType::read;
    const bool both_atomic = event.access.is_atomic && type == AccessType::atomic;
    if (harmless || both_atomic) return;
    if (const LaunchBefore* before = launch_of(earlier, has_waited)) {
      tell(*before, earlier, type, event, block, has_waited);
      is_told = true;
    }
  });
  if (has_waited || is_told || before_.empty()) return;
  if (before_.front().is_callers) tell_of_callers(event, block);
}

std::string EarlyBegin::chain_from(const LaunchBefore& before, bool has_waited) const {
  if (!has_waited) {
    return "This launch may begin early (cudaLaunchAttributeProgrammaticStreamSerialization)" +
           std::string(&before == &before_.back() ? ""
                                                  : ", as may what lies between the two and "
                                                    "triggers before it has waited") +
           ", and the thread has not called cudaGridDependencySynchronize().";
  }
  const auto never_waits = std::find_if(before_.rbegin(), before_.rend(),
                                        [](const LaunchBefore& each) { return !each.waits; });
  const std::string between = never_waits->launch.kernel;
  return "The thread has called cudaGridDependencySynchronize(), but as far as CUDA promises that "
         "waits for the kernel "
         "before alone. " +
         between + ", which lies between the two, may begin as soon as " + before.launch.kernel +
         " has called cudaTriggerProgrammaticLaunchCompletion(), and be over first, for it waits "
         "for nobody: let " +
         between + " call cudaGridDependencySynchronize(), too, at its end if it needs nothing.";
}

void EarlyBegin::tell(const LaunchBefore& before, const AccessRecord& earlier, AccessType type,
                      const AccessEvent& event, std::uint64_t block, bool has_waited) {
  const Access& access = event.access;
  const CodeAddress site = sites_.address(earlier.site());
  if (!findings_.is_first(Kind::early_begin, site, access.site)) return;
  const Findings::Writing writing(findings_);
  const ElementName element = element_at(memory_, MemorySpace::global, access.address, access.size);
  const std::string kernel = before.launch.kernel;
  const auto distance = &before_.back() - &before + 1;
  const std::string which =
      distance == 1 ? "the kernel before it" : std::to_string(distance) + " kernels before it";
  findings_.add(
      {Kind::early_begin,
       launch_.kernel,
       words_for(access.type).begin + element.text + " before " + kernel +
           " is sure to have ended, " + which + ", which uses that, too. " +
           chain_from(before, has_waited),
       false,
       {party(before.launch, before.intervals[earlier.interval() - before.first_interval].block,
              earlier.thread(), site,
              action_text(type, sites_.size(earlier.site())) + " in " + kernel),
        party(launch_, block, event.thread, access.site,
              action_text(access.type, access.size) + " in " + launch_.kernel)},
       element.buffer,
       element.index});
}

void EarlyBegin::tell_of_callers(const AccessEvent& event, std::uint64_t block) {
  const Access& access = event.access;
  if (!findings_.is_first(Kind::early_begin, access.site, access.site)) return;
  const Findings::Writing writing(findings_);
  const ElementName element = element_at(memory_, MemorySpace::global, access.address, access.size);
  const char* const between =
      before_.size() == 1
          ? ""
          : ", as may those of this call before it, which trigger before they have waited";
  findings_.add(
      {Kind::early_begin,
       launch_.kernel,
       words_for(access.type).begin + element.text +
           " before what the caller has put on the stream is sure to have ended: it may write " +
           "that, or read it. This launch may begin early " +
           "(cudaLaunchAttributeProgrammaticStreamSerialization)" + between +
           ", and the thread has not called cudaGridDependencySynchronize().",
       false,
       {party(launch_, block, event.thread, access.site,
              action_text(access.type, access.size) + " in " + launch_.kernel)},
       element.buffer,
       element.index});
}

}  // namespace simulator
