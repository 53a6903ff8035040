#include "races/early_begin.h"

#include <algorithm>

#include "findings/texts.h"
#include "memory/names.h"

namespace simulator {

void EarlyBegin::on(const BlockBegin& event) {
  if (launch_.may_begin_early) have_waited_.begin(event).assign(event.threads, false);
}

void EarlyBegin::on(const PrimaryAwaited& event) {
  if (!launch_.may_begin_early) return;
  have_waited_.running()[event.thread] = some_wait_ = true;
}

void EarlyBegin::on(const BarrierMet&) {
  if (!is_possible()) return;
  std::vector<bool>& threads = have_waited_.running();
  const bool any = std::find(threads.begin(), threads.end(), true) != threads.end();
  if (any) threads.assign(threads.size(), true);
}

void EarlyBegin::on(const SyncwarpMet& event) {
  if (!is_possible()) return;
  std::vector<bool>& threads = have_waited_.running();
  bool any = false;
  const auto each_lane = [&](auto act) {
    for (unsigned left = event.lanes; left != 0; left &= left - 1) {
      act(event.warp * 32 + static_cast<unsigned>(__builtin_ctz(left)));
    }
  };
  each_lane([&](unsigned thread) { any = any || threads[thread]; });
  if (any) each_lane([&](unsigned thread) { threads[thread] = true; });
}

void EarlyBegin::check(const AccessEvent& event, const RaceShadow& shadow, std::uint64_t block) {
  if (have_waited_.running()[event.thread]) return;
  const bool is_read = event.access.type == AccessType::read;
  shadow.each_record(event, [&](const AccessRecord& earlier, AccessType type) {
    const bool harmless = is_read && type == AccessType::read;
    const bool both_atomic = event.access.is_atomic && type == AccessType::atomic;
    if (is_of_primary(earlier) && !harmless && !both_atomic) tell(earlier, type, event, block);
  });
}

void EarlyBegin::tell(const AccessRecord& earlier, AccessType type, const AccessEvent& event,
                      std::uint64_t block) {
  const Access& access = event.access;
  const CodeAddress site = sites_.address(earlier.site());
  if (!findings_.is_first(Kind::early_begin, site, access.site)) return;
  const Findings::Writing writing(findings_);
  const ElementName element = element_at(memory_, MemorySpace::global, access.address, access.size);
  findings_.add(
      {Kind::early_begin,
       launch_.kernel,
       words_for(access.type).begin + element.text + " before " + primary_.launch.kernel +
           " is sure to have ended, the kernel before it, which uses that, too. This launch may "
           "begin early (cudaLaunchAttributeProgrammaticStreamSerialization), and the thread has "
           "not called cudaGridDependencySynchronize().",
       false,
       {party(primary_.launch,
              primary_.intervals[earlier.interval() - primary_.first_interval].block,
              earlier.thread(), site,
              action_text(type, access.size) + " in " + primary_.launch.kernel),
        party(launch_, block, event.thread, access.site,
              action_text(access.type, access.size) + " in " + launch_.kernel)},
       element.buffer,
       element.index});
}

}  // namespace simulator
