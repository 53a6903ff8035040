#include "races/early_begin.h"

#include <algorithm>

#include "findings/texts.h"
#include "memory/names.h"

namespace simulator {

namespace {

// Of a long chain of kernels none of which waits before it triggers, how many are looked at.
constexpr std::size_t kMostBefore = 4;

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

void EarlyBegin::on(const DependentsTriggered& event) {
  if (!launch_.may_begin_early) return;
  Block& block = blocks_.running();
  block.has_triggered = true;
  if (block.have_waited[event.thread]) waits_before_next_ = true;
}

void EarlyBegin::on(const BarrierMet&) {
  if (!is_possible()) return;
  Block& block = blocks_.running();
  if (block.any_has_waited()) block.have_waited.assign(block.have_waited.size(), true);
}

void EarlyBegin::on(const SyncwarpMet& event) {
  if (!is_possible()) return;
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

void EarlyBegin::drop_ended(std::vector<LaunchBefore>& before) const {
  const bool all = !launch_.may_begin_early || waits_before_next_;
  const std::size_t ended = all ? before.size() : before.size() >= kMostBefore ? 1 : 0;
  before.erase(before.begin(), before.begin() + static_cast<std::ptrdiff_t>(ended));
}

const LaunchBefore* EarlyBegin::launch_of(const AccessRecord& record) const {
  for (const LaunchBefore& launch : before_) {
    if (record.interval() >= launch.first_interval &&
        record.interval() - launch.first_interval < launch.intervals.size()) {
      return &launch;
    }
  }
  return nullptr;
}

void EarlyBegin::check(const AccessEvent& event, const RaceShadow& shadow, std::uint64_t block) {
  if (blocks_.running().have_waited[event.thread]) return;
  const bool is_read = event.access.type == AccessType::read || event.access.is_load;
  bool is_told = false;
  shadow.each_record(event, [&](const AccessRecord& earlier, AccessType type) {
    const bool harmless = is_read && type == AccessType::read;
    const bool both_atomic = event.access.is_atomic && type == AccessType::atomic;
    if (harmless || both_atomic) return;
    if (const LaunchBefore* before = launch_of(earlier)) {
      tell(*before, earlier, type, event, block);
      is_told = true;
    }
  });
  if (!is_told && !before_.empty() && before_.front().is_callers) tell_of_callers(event, block);
}

void EarlyBegin::tell(const LaunchBefore& before, const AccessRecord& earlier, AccessType type,
                      const AccessEvent& event, std::uint64_t block) {
  const Access& access = event.access;
  const CodeAddress site = sites_.address(earlier.site());
  if (!findings_.is_first(Kind::early_begin, site, access.site)) return;
  const Findings::Writing writing(findings_);
  const ElementName element = element_at(memory_, MemorySpace::global, access.address, access.size);
  const std::string kernel = before.launch.kernel;
  const auto distance = &before_.back() - &before + 1;
  std::string which = "the kernel before it";
  std::string between;
  if (distance > 1) {
    which = std::to_string(distance) + " kernels before it";
    between = ", as may what lies between the two and triggers before it has waited";
  }
  findings_.add(
      {Kind::early_begin,
       launch_.kernel,
       words_for(access.type).begin + element.text + " before " + kernel +
           " is sure to have ended, " + which + ", which uses that, too. This launch may begin " +
           "early (cudaLaunchAttributeProgrammaticStreamSerialization)" + between +
           ", and the thread has not called cudaGridDependencySynchronize().",
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
