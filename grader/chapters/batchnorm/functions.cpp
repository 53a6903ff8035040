#include "chapters/batchnorm/functions.h"

namespace onepass::batchnorm {

using verdict::Dtype;
using namespace verdict::contract;

namespace {

const std::vector<Size> kSizes = {{"batch", 0}, {"channels", 0}, {"space", 0}};
const Scalar kEps = {"eps", double{1e-5f}};

Tensor x() {
  return input("x", "batch * channels", "space");
}
Tensor weight() {
  return input("weight", "channels", 1).filled(1.0, 0.5);
}
Tensor bias() {
  return input("bias", "channels", 1);
}
Tensor y() {
  return output("y", "batch * channels", "space");
}

/// Running statistics: of 4.1 in place, of 4.2 inputs.
Tensor mean(Tensor tensor) {
  return std::move(tensor).of(Dtype::fp32);
}
Tensor var(Tensor tensor) {
  return std::move(tensor).of(Dtype::fp32).filled(1.0, 0.5);
}

Tensor saved(const char* name) {
  return output(name, "channels", 1).of(Dtype::fp32);
}

}  // namespace

const Function& forward_function() {
  static const Function function = {
      "batchnorm_forward",
      kSizes,
      {x(), weight(), bias(), y(), mean(in_place("running_mean", "channels", 1)),
       var(in_place("running_var", "channels", 1)), saved("save_mean"), saved("save_rstd")},
      {kEps, {"momentum", double{0.1f}}}};
  return function;
}

const Function& evaluate_function() {
  static const Function function = {
      "batchnorm_evaluate",
      kSizes,
      {x(), weight(), bias(), mean(input("running_mean", "channels", 1)),
       var(input("running_var", "channels", 1)), y()},
      {kEps}};
  return function;
}

}  // namespace onepass::batchnorm
