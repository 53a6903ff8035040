// Order statistics of timings, which are skewed: a few calls are much slower, none much faster.
#pragma once

#include <vector>

namespace onepass::verdict {

struct Statistics {
  double median = 0.0;
  double p20 = 0.0;
  double p80 = 0.0;
  double relative_error = 0.0;  // of the median, one standard error; infinite below two samples
};

Statistics statistics_of(std::vector<double> samples);

}  // namespace onepass::verdict
