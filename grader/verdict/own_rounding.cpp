#include "verdict/own_rounding.h"

namespace onepass::verdict {

const std::vector<OwnRounding>& own_roundings() {
  static const std::vector<OwnRounding> all = {
      {"cut-off",
       "Numbers were cut off to the 16-bit type: take the nearest one, as a cast or "
       "__float2bfloat16() does. The upper half of a float is the next one toward 0.",
       Rounding::toward_zero},
      {"wrong-rounding",
       "Numbers were always rounded away from 0 to the 16-bit type: take the nearest one, as a "
       "cast or __float2bfloat16() does.",
       Rounding::away_from_zero},
      {"wrong-rounding",
       "Numbers were always rounded up to the 16-bit type: take the nearest one, as a cast does, "
       "or __float2half_rn() and __float2bfloat16_rn().",
       Rounding::up},
      {"wrong-rounding",
       "Numbers were always rounded down to the 16-bit type: take the nearest one, as a cast does, "
       "or __float2half_rn() and __float2bfloat16_rn().",
       Rounding::down},
      {"wrong-rounding",
       "What lies in the middle between two 16-bit numbers was rounded away from 0: it goes to the "
       "one whose last bit is 0, as a cast or __float2bfloat16() does. By hand that is 0x7fff plus "
       "the lowest bit that is kept, not 0x8000, and a NaN has to stay one.",
       Rounding::halves_away},
      {"wrong-rounding",
       "What lies in the middle between two 16-bit numbers was rounded toward 0: it goes to the "
       "one whose last bit is 0, as a cast or __float2bfloat16() does. By hand that is 0x7fff plus "
       "the lowest bit that is kept, and a NaN has to stay one.",
       Rounding::halves_toward_zero},
  };
  return all;
}

namespace {

/// An fp32 output of a call of 16 bits.
std::optional<Field> half_result(const Case& call, const Expectation& expected) {
  if (call.buffer(expected.output).dtype != Dtype::fp32 || size_of(call.dtype()) != 2) {
    return std::nullopt;
  }
  Field value = expected.value;
  for (double& element : value.values) {
    element = round_to(call.dtype(), element);
  }
  return value;
}

}  // namespace

std::vector<Oracle> roundings_of(const std::function<Expectation(const Case&)>& expected) {
  std::vector<Oracle> all = {{"half-result",
                              "The result is in fp32, and was rounded to the 16-bit type before it "
                              "was stored: keep it a float.",
                              [expected](const Case& call, const std::string&, const WrongRows&) {
                                return half_result(call, expected(call));
                              }}};
  for (const auto& [mistake, sentence, way] : own_roundings()) {
    all.push_back({mistake, sentence,
                   [expected, way = way](const Case& call, const std::string& output,
                                         const WrongRows&) -> std::optional<Field> {
                     const Dtype dtype = call.buffer(output).dtype;
                     if (size_of(dtype) != 2) {
                       return std::nullopt;
                     }
                     Field value = expected(call).value;
                     for (double& element : value.values) {
                       element = round_to(dtype, element, way);
                     }
                     return value;
                   }});
  }
  return all;
}

}  // namespace onepass::verdict
