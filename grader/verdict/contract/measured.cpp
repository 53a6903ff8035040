#include "verdict/contract/measured.h"

#include <utility>

#include "verdict/contract/call.h"

namespace onepass::verdict::contract {
namespace {

std::vector<Expectation> all(const std::vector<Expected>& outputs, const Case& sampled) {
  std::vector<Expectation> expectations;
  for (const Expected& output : outputs) {
    expectations.push_back(output(sampled));
  }
  return expectations;
}

}  // namespace

Measurement measured(const Function& function, Sizes (*sizes)(const Shape&),
                     std::vector<Expected> outputs, std::vector<Expected> column_sums) {
  Measurement measurement;
  measurement.least_bytes = [&function, sizes](const Shape& shape) {
    return least_bytes(function, shape.dtype, sizes(shape));
  };
  measurement.make_case = [&function, sizes](const Shape& shape, std::uint64_t seed) {
    return call(function, shape.dtype, {.sizes = sizes(shape), .seed = seed});
  };
  measurement.expectations = [outputs](const Case& sampled, const std::vector<std::int64_t>&) {
    return all(outputs, sampled);
  };
  if (!column_sums.empty()) {
    measurement.column_sums = [column_sums](const Case& sampled) {
      return all(column_sums, sampled);
    };
  }
  return measurement;
}

}  // namespace onepass::verdict::contract
