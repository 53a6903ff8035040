#include "races/proxy_fences.h"

#include <algorithm>

namespace simulator {

bool ProxyFences::cover(const AccessRecord& store, const Ordering& ordering) const {
  return std::any_of(fences_.begin(), fences_.end(), [&](const AccessRecord& fence) {
    if (!fence.is_set() || fence.interval() < store.interval()) return false;
    if (fence.interval() > store.interval()) return true;
    if (fence.thread() == store.thread()) return store.epoch() < fence.epoch();
    return ordering.is_ordered_within_phase(store, fence.thread());
  });
}

}  // namespace simulator
