#include "races/proxy_fences.h"

#include <algorithm>

namespace simulator {

bool ProxyFences::cover(const AccessRecord& store, const Ordering& ordering) const {
  const AccessRecord& own = fences_[store.thread()];  // mostly this one does
  if (own.interval() == store.interval() && store.epoch() < own.epoch()) return true;
  return std::any_of(fences_.begin(), fences_.end(), [&](const AccessRecord& fence) {
    if (fence.interval() != store.interval()) return fence.interval() > store.interval();
    return store.interval() >= ordering.phase_begin() &&
           ordering.is_ordered_within_phase(store, fence.thread()) &&
           fence.thread() != store.thread();
  });
}

}  // namespace simulator
