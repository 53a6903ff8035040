// Chapter 2, LayerNorm: its exercises, and the sizes at which they are measured. The checks are in
// checks_<exercise>.cpp.
#include "chapters/common/exercise.h"
#include "chapters/layernorm/calls.h"

namespace onepass::layernorm {
namespace {

using common::exercise;
using common::row_shapes;
using verdict::Exercise;
using verdict::Measurement;
using verdict::Outputs;
using verdict::Shape;

/// Few rows, because the simulator runs every thread; wide enough that what all rows share and what
/// is saved for each row hardly count.
std::vector<Shape> wide_and_few() {
  return row_shapes({{16, 4096, Dtype::fp32}, {16, 4096, Dtype::fp16}});
}

/// For sums down the columns: enough rows that the partial sums of a group do not outweigh them.
std::vector<Shape> narrow_and_many() {
  return row_shapes({{2048, 128, Dtype::fp32}, {2048, 128, Dtype::fp16}});
}

Measurement measurement_of(const Function& function, const std::vector<Shape>& traffic,
                           const Outputs& outputs, const Outputs& column_sums = {}) {
  Measurement measurement = verdict::contract::measured(function, outputs, column_sums);
  measurement.traffic = traffic;
  // The hidden sizes of language models; the largest go well beyond any L2. Points are given for
  // the first that does: there the solutions have room to spare, which 4096 x 8192 fp16 has not.
  measurement.bandwidth = row_shapes({{4096, 4096, Dtype::fp16},
                                      {16384, 4096, Dtype::bf16},
                                      {4096, 8192, Dtype::fp16},
                                      {4096, 15872, Dtype::fp16},
                                      {4096, 8192, Dtype::fp32}});
  return measurement;
}

Measurement forward(const Function& function) {
  return measurement_of(function, wide_and_few(), {expected_mean, expected_rstd, expected_y});
}

Measurement backward(const Function& function) {
  return measurement_of(function, narrow_and_many(), {expected_dx},
                        {expected_dweight, expected_dbias});
}

std::vector<Exercise> exercises() {
  return {
      exercise("forward", "LayerNorm, the forward pass", "2.1 The forward pass", forward(kForward)),
      exercise("backward_dx", "LayerNorm, the gradient of x", "2.2 The gradient of x",
               measurement_of(kBackwardDx, wide_and_few(), {expected_dx})),
      exercise("backward_dweight_dbias", "LayerNorm, the gradients of weight and bias",
               "2.3 The gradients of weight and bias",
               measurement_of(kBackwardDweightDbias, narrow_and_many(), {},
                              {expected_dweight, expected_dbias})),
      exercise("backward_fused", "LayerNorm, the whole backward pass", "2.4 One pass",
               backward(kBackward)),
      exercise("forward_fast", "LayerNorm, at the speed of memory",
               "2.5 Forward, at the speed of memory", forward(kForwardFast)),
      exercise("backward_fast", "LayerNorm backward, at the speed of memory",
               "2.6 Backward, at the speed of memory", backward(kBackwardFast)),
  };
}

}  // namespace
}  // namespace onepass::layernorm

int main(int argc, char** argv) {
  return onepass::verdict::grade({ONEPASS_CHAPTER, onepass::layernorm::exercises()}, argc, argv);
}
