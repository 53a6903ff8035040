// The fp64 reference of chapter 1.
#include "chapters/rmsnorm/reference.h"

#include "chapters/common/forward.h"

namespace onepass::rmsnorm {

Field rms_rstd(const Field& x, double eps) {
  return *common::forward({.x = x, .eps = eps, .centred = false}, "rstd");
}

Field rmsnorm_y(const Field& x, const Field& weight, double eps) {
  return *common::forward({.x = x, .eps = eps, .centred = false, .weight = weight}, "y");
}

Field added(const Field& a, const Field& b) {
  Field sum = a;
  for (std::size_t i = 0; i < sum.values.size(); ++i) {
    sum.values[i] += b.values[i];
  }
  return sum;
}

}  // namespace onepass::rmsnorm
