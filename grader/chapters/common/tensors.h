// Tensors that the functions of RMSNorm and LayerNorm have in common. Inline, for the tables of
// functions are made before main().
#pragma once

#include "verdict/contract/function.h"

namespace onepass::common {

using verdict::Dtype;
using verdict::contract::kReturned;
using verdict::contract::Scalar;
using verdict::contract::Size;
using verdict::contract::Sizes;
using verdict::contract::Tensor;
using enum verdict::Role;

inline const std::vector<Size> kRowsAndCols = {{"rows", 0}, {"cols", 1, 65'536}};

inline const Tensor kX = {"x", input, "rows", "cols", {.strided = true}};
inline const Tensor kWeight = {"weight", input, 1, "cols", {.mean = 1.0, .scale = 0.5}};
inline const Tensor kOptionalWeight = {
    "weight", input, 1, "cols", {.optional = true, .mean = 1.0, .scale = 0.5}};
inline const Tensor kY = {"y", output, "rows", "cols", {.strided = true}};
inline const Tensor kRstd = {"rstd", output, "rows", 1, {.dtype = Dtype::fp32}};

// Of the backward functions. In a timed call the saved rstd is numbers of its own: close to those
// of x, which is uniform in [-1, 1).
inline const Tensor kDy = {"dy", input, "rows", "cols", {.strided = true}};
inline const Tensor kSavedRstd = {
    "rstd", input, "rows", 1, {.dtype = Dtype::fp32, .mean = 1.7, .scale = 0.1}};
inline const Tensor kDx = {"dx", output, "rows", "cols", {.strided = true}};
inline const Tensor kDweight = {"dweight", output, 1, "cols"};

/// Room for partial sums: so many floats as the header grants.
template <auto size>
Tensor scratch() {
  return {"scratch", output, 1, 1, {.dtype = Dtype::fp32, .scratch = [](const Sizes& sizes) {
                                      return static_cast<std::int64_t>(
                                          size(static_cast<int>(sizes.at("rows")),
                                               static_cast<int>(sizes.at("cols"))));
                                    }}};
}

}  // namespace onepass::common
