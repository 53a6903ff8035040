// Chapter 4's functions as data: what onepass/batchnorm.h says of each.
#include <onepass/batchnorm_scratch.h>

#include "chapters/batchnorm/calls.h"

namespace onepass::batchnorm {

using namespace verdict::contract;

namespace {

const std::vector<Size> kSizes = {{"batch", 0}, {"channels", 0}, {"space", 0}};
const Scalar kEps = {"eps", double{1e-5f}};

const Tensor kX = {"x", input, "batch * channels", "space"};
const Tensor kWeight = {"weight", input, "channels", 1, {.mean = 1.0, .scale = 0.5}};
const Tensor kBias = {"bias", input, "channels", 1};
const Tensor kY = {"y", output, "batch * channels", "space"};

const Traits kMean = {.dtype = Dtype::fp32};
const Traits kVar = {.dtype = Dtype::fp32, .mean = 1.0, .scale = 0.5};

const Tensor kScratch = {
    "scratch", output, 1, 1, {.dtype = Dtype::fp32, .scratch = [](const Sizes& sizes) {
                                const auto size = [&](const char* name) {
                                  return static_cast<int>(sizes.at(name));
                                };
                                return std::int64_t{batchnorm_scratch_size(
                                    size("batch"), size("channels"), size("space"))};
                              }}};

Function forward_called(const char* name, const std::vector<Tensor>& more = {}) {
  Function function = {name,
                       kSizes,
                       {kX,
                        kWeight,
                        kBias,
                        kY,
                        {"running_mean", in_place, "channels", 1, kMean},
                        {"running_var", in_place, "channels", 1, kVar},
                        {"save_mean", output, "channels", 1, {.dtype = Dtype::fp32}},
                        {"save_rstd", output, "channels", 1, {.dtype = Dtype::fp32}}},
                       {kEps, {"momentum", double{0.1f}}}};
  function.tensors.insert(function.tensors.end(), more.begin(), more.end());
  return function;
}

}  // namespace

const Function kForward = forward_called("batchnorm_forward");
const Function kForwardFast = forward_called("batchnorm_forward_fast", {kScratch});

const Function kEvaluate = {"batchnorm_evaluate",
                            kSizes,
                            {kX,
                             kWeight,
                             kBias,
                             {"running_mean", input, "channels", 1, kMean},
                             {"running_var", input, "channels", 1, kVar},
                             kY},
                            {kEps}};

}  // namespace onepass::batchnorm
