#include "verdict/contract/measured.h"

#include "verdict/contract/call.h"

namespace onepass::verdict::contract {

std::vector<Expectation> expectations(const Outputs& outputs, const Case& call) {
  std::vector<Expectation> all;
  for (const auto& expected : outputs) {
    all.push_back(expected(call));
  }
  return all;
}

Measurement measured(const Function& function, Sizes (*sizes)(const Shape&), const Outputs& outputs,
                     const Outputs& column_sums) {
  Measurement measurement;
  measurement.least_bytes = [&function, sizes](const Shape& shape) {
    return least_bytes(function, shape.dtype, sizes(shape));
  };
  measurement.make_case = [&function, sizes](const Shape& shape, std::uint64_t seed) {
    return call(function, shape.dtype, {.sizes = sizes(shape), .seed = seed});
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

Sizes rows_and_cols(const Shape& shape) {
  return {{"rows", shape.rows}, {"cols", shape.cols}};
}

}  // namespace onepass::verdict::contract
