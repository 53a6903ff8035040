// Chapter 2, LayerNorm: its exercises, and the sizes at which they are measured. The checks are in
// checks_<exercise>.cpp.
#include <utility>

#include "chapters/layernorm/calls.h"
#include "verdict/contract/measured.h"

namespace onepass::layernorm {
namespace {

using verdict::Exercise;
using verdict::Measurement;
using verdict::Shape;
using namespace verdict::contract;

/// Few rows, because the simulator runs every thread; wide enough that what all rows share and what
/// is saved for each row hardly count.
std::vector<Shape> wide_and_few() {
  return {{16, 4096, Dtype::fp32}, {16, 4096, Dtype::fp16}};
}

/// For sums down the columns: enough rows that the partial sums of a group do not outweigh them.
std::vector<Shape> narrow_and_many() {
  return {{2048, 128, Dtype::fp32}, {2048, 128, Dtype::fp16}};
}

/// The hidden sizes of language models; the largest go well beyond any L2.
std::vector<Shape> bandwidth_shapes() {
  return {{4096, 4096, Dtype::fp16},
          {4096, 8192, Dtype::fp16},
          {4096, 15872, Dtype::fp16},
          {4096, 8192, Dtype::fp32},
          {16384, 4096, Dtype::bf16}};
}

Measurement measurement_of(const Function& function, const std::vector<Shape>& traffic,
                           const Outputs& outputs, const Outputs& column_sums = {}) {
  Measurement measurement = measured(function, rows_and_cols, outputs, column_sums);
  measurement.traffic = traffic;
  measurement.bandwidth = bandwidth_shapes();
  return measurement;
}

Exercise exercise(const char* name, const char* title, const char* section,
                  Measurement measurement) {
  return {std::string("layernorm/") + name, title, std::string("02_layernorm/") + name + ".cu",
          std::string("docs/02_layernorm.md, \"") + section + "\"", std::move(measurement)};
}

Exercise forward_exercise() {
  return exercise(
      "forward", "LayerNorm, the forward pass", "2.1 The forward pass",
      measurement_of(kForward, wide_and_few(), {expected_mean, expected_rstd, expected_y}));
}

Exercise backward_dx_exercise() {
  return exercise("backward_dx", "LayerNorm, the gradient of x", "2.2 The gradient of x",
                  measurement_of(kBackwardDx, wide_and_few(), {expected_dx}));
}

Exercise backward_dweight_dbias_exercise() {
  return exercise("backward_dweight_dbias", "LayerNorm, the gradients of weight and bias",
                  "2.3 The gradients of weight and bias",
                  measurement_of(kBackwardDweightDbias, narrow_and_many(), {},
                                 {expected_dweight, expected_dbias}));
}

Exercise backward_fused_exercise() {
  return exercise("backward_fused", "LayerNorm, the whole backward pass", "2.4 One pass",
                  measurement_of(kBackward, narrow_and_many(), {expected_dx},
                                 {expected_dweight, expected_dbias}));
}

}  // namespace
}  // namespace onepass::layernorm

int main(int argc, char** argv) {
  using namespace onepass::layernorm;
  return onepass::verdict::grade({"layernorm",
                                  {forward_exercise(), backward_dx_exercise(),
                                   backward_dweight_dbias_exercise(), backward_fused_exercise()}},
                                 argc, argv);
}
