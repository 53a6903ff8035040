// Programmatic dependent launches, seen from a kernel. What they are says races/early_begin.h.
#include "onepass_simulator/device_calls.h"
#include "scheduling/running.h"

namespace simulator {

void wait_for_primary() {
  if (Launch* launch = launch_of_kernel()) {
    launch->checkers.tell(PrimaryAwaited{launch->thread->number});
  }
}

void trigger_dependents() {
  if (Launch* launch = launch_of_kernel()) {
    launch->checkers.tell(DependentsTriggered{launch->thread->number});
  }
}

}  // namespace simulator
