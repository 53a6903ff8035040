// Chapter 2's functions as data: what onepass/layernorm.h says of each.
#include <onepass/layernorm_scratch.h>

#include "chapters/layernorm/calls.h"

namespace onepass::layernorm {

using namespace verdict::contract;

namespace {

const std::vector<Size> kSizes = {{"rows", 0}, {"cols", 1, 65'536}};

const Tensor kWeight = {"weight", input, 1, "cols", {.mean = 1.0, .scale = 0.5}};
const Tensor kOptionalWeight = {
    "weight", input, 1, "cols", {.optional = true, .mean = 1.0, .scale = 0.5}};

// Of the backward functions. In a timed call mean and rstd are numbers of their own: close to those
// of x, which is uniform in [-1, 1).
const Tensor kDy = {"dy", input, "rows", "cols", {.strided = true}};
const Tensor kX = {"x", input, "rows", "cols", {.strided = true}};
const Tensor kMean = {"mean", input, "rows", 1, {.dtype = Dtype::fp32, .scale = 0.1}};
const Tensor kRstd = {"rstd", input, "rows", 1, {.dtype = Dtype::fp32, .mean = 1.7, .scale = 0.1}};
const Tensor kDx = {"dx", output, "rows", "cols", {.strided = true}};
const Tensor kDweight = {"dweight", output, 1, "cols"};
const Tensor kDbias = {"dbias", output, 1, "cols"};

std::int64_t scratch_size(const Sizes& sizes) {
  return layernorm_scratch_size(static_cast<int>(sizes.at("rows")),
                                static_cast<int>(sizes.at("cols")));
}
const Tensor kScratch = {"scratch", output, 1, 1, {.dtype = Dtype::fp32, .scratch = scratch_size}};

}  // namespace

const Function kForward = {"layernorm_forward",
                           kSizes,
                           {{"x", input, "rows", "cols", {.strided = true, .mean = 0.5}},
                            kOptionalWeight,
                            {"bias", input, 1, "cols", {.optional = true}},
                            {"y", output, "rows", "cols", {.strided = true}},
                            {"mean", output, "rows", 1, {.dtype = Dtype::fp32}},
                            {"rstd", output, "rows", 1, {.dtype = Dtype::fp32}}},
                           {{"eps", double{1e-5f}}}};

const Function kBackwardDx = {
    "layernorm_backward_dx", kSizes, {kDy, kX, kOptionalWeight, kMean, kRstd, kDx}};

const Function kBackwardDweightDbias = {
    "layernorm_backward_dweight_dbias",
    kSizes,
    {kDy, kX, kMean, kRstd, kDweight, kDbias, kScratch, kReturned}};

const Function kBackward = {
    "layernorm_backward",
    kSizes,
    {kDy, kX, kWeight, kMean, kRstd, kDx, kDweight, kDbias, kScratch, kReturned}};

}  // namespace onepass::layernorm
