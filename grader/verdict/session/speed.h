// Speed: how near the exercise's own call comes to what every kernel has to do. On the simulator in
// sectors of 32 bytes, on a GPU in time: that of a copy of as many bytes, so that any card is as
// good as another.
#pragma once

#include <string>

#include "verdict/case.h"
#include "verdict/session/next_step.h"

namespace onepass::verdict {

struct Speed {
  Case call;
  /// On the simulator: sectors that were asked of the large tensors, each reading and each writing
  /// again counted again, over the least. Weights, tables and what is saved for each row are small,
  /// and answered by the cache; of scratch, which the contract limits, what is asked for again.
  double over_least = 0.0;
  /// On a GPU: effective bandwidth in per cent of the copy's.
  double percent_of_copy = 0.0;
  /// "the sectors of x were read twice, those of y written once", or "1720 GB/s, a copy of as many
  /// bytes 4012".
  std::string in_words;
  NextStep next;  // what would bring most
};

}  // namespace onepass::verdict
