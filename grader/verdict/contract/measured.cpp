#include "verdict/contract/measured.h"

#include "verdict/contract/call.h"

namespace onepass::verdict::contract {

Measurement measured(const Function& function, const Outputs& outputs, const Outputs& column_sums) {
  Measurement measurement;
  measurement.function = &function;
  measurement.make_case = [&function](const Shape& shape, std::uint64_t seed) {
    return call(function, shape.dtype, {.sizes = shape.sizes, .seed = seed});
  };
  measurement.expectations = [outputs](const Case& sampled, const std::vector<std::int64_t>&) {
    return expectations(outputs, sampled);
  };
  if (!column_sums.empty()) {
    measurement.column_sums = [column_sums](const Case& sampled) {
      return expectations(column_sums, sampled);
    };
  }
  return measurement;
}

}  // namespace onepass::verdict::contract
