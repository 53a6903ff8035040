#include "chapters/layernorm/functions.h"

#include <onepass/layernorm_scratch.h>

namespace onepass::layernorm {

using verdict::Dtype;
using namespace verdict::contract;

namespace {

const std::vector<Size> kSizes = {{"rows", 0}, {"cols", 1, 65'536}};

Tensor weight() {
  return input("weight", 1, "cols").filled(1.0, 0.5);
}

/// dy, x and the statistics that the forward pass saved: in a timed call numbers of their own,
/// close to those of x, which is uniform in [-1, 1).
Tensor dy() {
  return input("dy", "rows", "cols").strided();
}
Tensor x() {
  return input("x", "rows", "cols").strided();
}
Tensor mean() {
  return input("mean", "rows", 1).of(Dtype::fp32).filled(0.0, 0.1);
}
Tensor rstd() {
  return input("rstd", "rows", 1).of(Dtype::fp32).filled(1.7, 0.1);
}

Tensor dx() {
  return output("dx", "rows", "cols").strided();
}
Tensor dweight() {
  return output("dweight", 1, "cols");
}
Tensor dbias() {
  return output("dbias", 1, "cols");
}
Tensor sums_scratch() {
  return scratch("scratch", [](const Sizes& sizes) {
    return layernorm_scratch_size(static_cast<int>(sizes.at("rows")),
                                  static_cast<int>(sizes.at("cols")));
  });
}

}  // namespace

const Function& forward_function() {
  static const Function function = {
      "layernorm_forward",
      kSizes,
      {x().filled(0.5, 1.0), weight().optional(), input("bias", 1, "cols").optional(),
       output("y", "rows", "cols").strided(), output("mean", "rows", 1).of(Dtype::fp32),
       output("rstd", "rows", 1).of(Dtype::fp32)},
      {{"eps", double{1e-5f}}}};
  return function;
}

const Function& backward_dx_function() {
  static const Function function = {
      "layernorm_backward_dx", kSizes, {dy(), x(), mean(), rstd(), weight().optional(), dx()}, {}};
  return function;
}

const Function& backward_dweight_dbias_function() {
  static const Function function = {
      "layernorm_backward_dweight_dbias",
      kSizes,
      {dy(), x(), mean(), rstd(), dweight(), dbias(), sums_scratch(), returned()},
      {}};
  return function;
}

const Function& backward_function() {
  static const Function function = {
      "layernorm_backward",
      kSizes,
      {dy(), x(), mean(), rstd(), weight(), dx(), dweight(), dbias(), sums_scratch(), returned()},
      {}};
  return function;
}

}  // namespace onepass::layernorm
