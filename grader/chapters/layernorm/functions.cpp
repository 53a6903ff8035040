// Chapter 2's functions as data: what onepass/layernorm.h says of each.
#include <onepass/layernorm_scratch.h>

#include "chapters/common/tensors.h"
#include "chapters/layernorm/calls.h"

namespace onepass::layernorm {

namespace {

const Tensor kSavedMean = {"mean", input, "rows", 1, {.dtype = Dtype::fp32, .scale = 0.1}};
const Tensor kDbias = {"dbias", output, 1, "cols"};
const Tensor kScratch = scratch<layernorm_scratch_size>();

Function forward_called(const char* name) {
  return {name,
          kRowsAndCols,
          {{"x", input, "rows", "cols", {.strided = true, .mean = 0.5}},
           kOptionalWeight,
           {"bias", input, 1, "cols", {.optional = true}},
           kY,
           {"mean", output, "rows", 1, {.dtype = Dtype::fp32}},
           kRstd},
          {{"eps", double{1e-5f}}}};
}

}  // namespace

const Function kForward = forward_called("layernorm_forward");
const Function kForwardFast = forward_called("layernorm_forward_fast");

const Function kBackwardDx = {
    "layernorm_backward_dx", kRowsAndCols, {kDy, kX, kOptionalWeight, kSavedMean, kSavedRstd, kDx}};

const Function kBackwardDweightDbias = {
    "layernorm_backward_dweight_dbias",
    kRowsAndCols,
    {kDy, kX, kSavedMean, kSavedRstd, kDweight, kDbias, kScratch, kReturned}};

namespace {

Function backward_called(const char* name) {
  return {name,
          kRowsAndCols,
          {kDy, kX, kWeight, kSavedMean, kSavedRstd, kDx, kDweight, kDbias, kScratch, kReturned}};
}

}  // namespace

const Function kBackward = backward_called("layernorm_backward");
const Function kBackwardFast = backward_called("layernorm_backward_fast");

}  // namespace onepass::layernorm
