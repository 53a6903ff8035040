// Where there is no libseccomp.
#include "process/system_calls.h"

namespace onepass::process {

bool can_filter_system_calls() {
  return false;
}

SystemCallFilter::SystemCallFilter(SystemCalls, const void*, const void*) {}

int SystemCallFilter::enter() {
  return 0;
}

}  // namespace onepass::process
