// Chapter 1, RMSNorm: its exercises, and the sizes at which they are measured. The checks are in
// checks_<exercise>.cpp.
#include <utility>

#include "chapters/common/exercise.h"
#include "chapters/rmsnorm/calls.h"

namespace onepass::rmsnorm {
namespace {

using common::exercise;
using common::row_shapes;
using verdict::Exercise;
using verdict::Measurement;
using verdict::Outputs;

Measurement measurement_of(const Function& function, const Outputs& outputs,
                           const Outputs& column_sums = {}) {
  Measurement measurement = verdict::contract::measured(function, outputs, column_sums);
  // Few rows, because the simulator runs every thread; wide enough that the weight and what is
  // saved for each row do not count.
  measurement.traffic =
      row_shapes({{16, 4096, Dtype::fp32}, {16, 4096, Dtype::fp16}, {16, 4096, Dtype::bf16}});
  // The hidden sizes of language models; the largest go well beyond any L2.
  measurement.bandwidth = row_shapes({{4096, 2048, Dtype::fp16},
                                      {4096, 4096, Dtype::fp16},
                                      {4096, 8192, Dtype::fp16},
                                      {4096, 8192, Dtype::fp32},
                                      {16384, 4096, Dtype::bf16}});
  return measurement;
}

Measurement forward_fast() {
  Measurement measurement = measurement_of(kForwardFast, {expected_rstd, expected_y});
  for (const verdict::Shape& wide :
       row_shapes({{32768, 8192, Dtype::bf16}, {8192, 16384, Dtype::bf16}})) {
    measurement.bandwidth.push_back(wide);
  }
  return measurement;
}

Measurement wide_rows() {
  Measurement measurement = measurement_of(kWideRows, {expected_rstd, expected_y});
  measurement.traffic =
      row_shapes({{6, 32768, Dtype::fp32}, {6, 32768, Dtype::fp16}, {6, 32768, Dtype::bf16}});
  measurement.bandwidth = row_shapes({{4096, 32768, Dtype::bf16},
                                      {4096, 65536, Dtype::bf16},
                                      {2048, 65536, Dtype::fp32},
                                      {1024, 262144, Dtype::bf16}});
  return measurement;
}

Measurement backward(const Function& function) {
  Measurement measurement = measurement_of(function, {expected_dx}, {expected_dweight});
  // Narrow, so that the rows outnumber the blocks: their partial sums do not count then.
  measurement.traffic = row_shapes({{2048, 32, Dtype::fp32}});
  measurement.bandwidth = row_shapes({{4096, 4096, Dtype::fp16},
                                      {4096, 8192, Dtype::fp16},
                                      {4096, 8192, Dtype::fp32},
                                      {16384, 4096, Dtype::bf16},
                                      {8192, 16384, Dtype::bf16}});
  return measurement;
}

std::vector<Exercise> exercises() {
  return {
      exercise("block_sum", "Sum a row", "1.1 Sum a row",
               measurement_of(kBlockSum, {expected_sums})),
      exercise("forward", "The forward pass", "1.2 The forward pass",
               measurement_of(kForward, {expected_rstd, expected_y})),
      exercise("backward", "The backward pass", "1.3 The backward pass", backward(kBackward)),
      exercise("forward_fast", "At the speed of memory", "1.4 At the speed of memory",
               forward_fast()),
      exercise(
          "residual", "With the residual", "1.5 With the residual",
          measurement_of(kResidual, {expected_sum, expected_residual_rstd, expected_residual_y})),
      exercise("backward_fast", "Backward, at the speed of memory",
               "1.6 Backward, at the speed of memory", backward(kBackwardFast)),
      exercise("wide_rows", "Wide rows", "1.7 Wide rows (optional)", wide_rows(), true),
  };
}

}  // namespace
}  // namespace onepass::rmsnorm

int main(int argc, char** argv) {
  return onepass::verdict::grade({ONEPASS_CHAPTER, onepass::rmsnorm::exercises()}, argc, argv);
}
