#include "races/carried_values.h"

namespace simulator {

bool CarriedValues::have_come(unsigned from, unsigned step, unsigned to) const {
  unsigned having = 0;  // lanes
  for (const ValuesCarried& next : steps_) {
    if ((next.lanes >> from & 1) && step-- == 0) having = 1u << from;
    if (!next.is_from_one) {
      if ((next.lanes & having) != 0) having |= next.lanes;
      continue;
    }
    const unsigned before = having;
    for (unsigned left = next.lanes; left != 0; left &= left - 1) {
      const int lane = __builtin_ctz(left);
      if (before >> next.from[lane] & 1) having |= 1u << lane;
    }
  }
  return (having >> to & 1) != 0;
}

}  // namespace simulator
