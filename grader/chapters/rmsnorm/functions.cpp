// Chapter 1's functions as data: what onepass/rmsnorm.h says of each.
#include "chapters/rmsnorm/calls_backward.h"

namespace onepass::rmsnorm {

using namespace verdict::contract;

namespace {

const Size kRows = {"rows", 0};
const Size kCols = {"cols", 1, 65'536};
const Scalar kEps = {"eps", 1e-6};

const Tensor kX = {"x", input, "rows", "cols", {.strided = true}};
const Tensor kWeight = {"weight", input, 1, "cols", {.mean = 1.0, .scale = 0.5}};
const Tensor kOptionalWeight = {
    "weight", input, 1, "cols", {.optional = true, .mean = 1.0, .scale = 0.5}};
const Tensor kY = {"y", output, "rows", "cols", {.strided = true}};
const Tensor kRstd = {"rstd", output, "rows", 1, {.dtype = Dtype::fp32}};

std::int64_t scratch_size(const Sizes& sizes) {
  return rmsnorm_scratch_size(static_cast<int>(sizes.at("rows")),
                              static_cast<int>(sizes.at("cols")));
}

}  // namespace

const Function kBlockSum = {
    "block_sum", {kRows, kCols}, {kX, {"sums", output, "rows", 1, {.dtype = Dtype::fp32}}}};

const Function kForward = {"rmsnorm_forward", {kRows, kCols}, {kX, kWeight, kY, kRstd}, {kEps}};

const Function kForwardFast = {"rmsnorm_forward_fast",
                               {kRows, {"cols", 1, 262'144}},
                               {kX, kOptionalWeight, kY, kRstd},
                               {kEps}};

// In a timed call rstd is numbers of its own: close to those of x, which is uniform in [-1, 1).
const Function kBackward = {
    "rmsnorm_backward",
    {kRows, kCols},
    {{"dy", input, "rows", "cols", {.strided = true}},
     kX,
     kWeight,
     {"rstd", input, "rows", 1, {.dtype = Dtype::fp32, .mean = 1.7, .scale = 0.1}},
     {"dx", output, "rows", "cols", {.strided = true}},
     {"dweight", output, 1, "cols"},
     {"scratch", output, 1, 1, {.dtype = Dtype::fp32, .scratch = scratch_size}}},
    {{"order", static_cast<std::int64_t>(CastOrder::llama)}}};

const Function kResidual = {"rmsnorm_residual",
                            {kRows, kCols},
                            {kX,
                             {"residual", input, "rows", "cols", {.strided = true, .scale = 2.0}},
                             kWeight,
                             {"sum", output, "rows", "cols", {.strided = true, .over = "residual"}},
                             {"y", output, "rows", "cols", {.strided = true, .over = "x"}},
                             kRstd},
                            {kEps}};

}  // namespace onepass::rmsnorm
