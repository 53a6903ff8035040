// Chapter 1's functions as data: what onepass/rmsnorm.h says of each.
#include "chapters/common/tensors.h"
#include "chapters/rmsnorm/calls.h"

namespace onepass::rmsnorm {

namespace {

const Scalar kUsualEps = {"eps", 1e-6};

}  // namespace

const Function kBlockSum = {
    "block_sum", kRowsAndCols, {kX, {"sums", output, "rows", 1, {.dtype = Dtype::fp32}}}};

const Function kForward = {"rmsnorm_forward", kRowsAndCols, {kX, kWeight, kY, kRstd}, {kUsualEps}};

const Function kForwardFast = {
    "rmsnorm_forward_fast", kRowsAndCols, {kX, kOptionalWeight, kY, kRstd}, {kUsualEps}};

const Function kWideRows = {"rmsnorm_wide_rows",
                            {{"rows", 0}, {"cols", 1, 262'144}},
                            {kX, kOptionalWeight, kY, kRstd},
                            {kUsualEps}};

namespace {

Function backward_called(const char* name) {
  return {name,
          kRowsAndCols,
          {kDy, kX, kWeight, kSavedRstd, kDx, kDweight, scratch<rmsnorm_scratch_size>()},
          {{"order", static_cast<std::int64_t>(CastOrder::llama)}}};
}

}  // namespace

const Function kBackward = backward_called("rmsnorm_backward");
const Function kBackwardFast = backward_called("rmsnorm_backward_fast");

const Function kResidual = {"rmsnorm_residual",
                            kRowsAndCols,
                            {kX,
                             {"residual", input, "rows", "cols", {.strided = true, .scale = 2.0}},
                             kWeight,
                             {"sum", output, "rows", "cols", {.strided = true, .over = "residual"}},
                             {"y", output, "rows", "cols", {.strided = true, .over = "x"}},
                             kRstd},
                            {kUsualEps}};

}  // namespace onepass::rmsnorm
