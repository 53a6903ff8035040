// Chapter 1, RMSNorm: its exercises, and the sizes at which they are measured. The checks are in
// checks_<exercise>.cpp.
#include <utility>

#include "chapters/rmsnorm/calls.h"
#include "chapters/rmsnorm/calls_backward.h"
#include "chapters/rmsnorm/calls_residual.h"
#include "verdict/contract/measured.h"

namespace onepass::rmsnorm {
namespace {

using verdict::Exercise;
using verdict::Measurement;
using verdict::Shape;
using namespace verdict::contract;

// Few rows, because the simulator runs every thread; wide enough that the weight and what is saved
// for each row do not count.
std::vector<Shape> traffic_shapes() {
  return {{16, 4096, Dtype::fp32}, {16, 4096, Dtype::fp16}, {16, 4096, Dtype::bf16}};
}

// The hidden sizes of language models; the largest go well beyond any L2.
std::vector<Shape> bandwidth_shapes() {
  return {{4096, 2048, Dtype::fp16},
          {4096, 4096, Dtype::fp16},
          {4096, 8192, Dtype::fp16},
          {4096, 8192, Dtype::fp32},
          {16384, 4096, Dtype::bf16}};
}

Measurement measurement_of(const Function& function, const Outputs& outputs,
                           const Outputs& column_sums = {}) {
  Measurement measurement = measured(function, rows_and_cols, outputs, column_sums);
  measurement.traffic = traffic_shapes();
  measurement.bandwidth = bandwidth_shapes();
  return measurement;
}

Exercise block_sum_exercise() {
  return {"rmsnorm/block_sum", "Sum a row", "01_rmsnorm/block_sum.cu",
          "docs/01_rmsnorm.md, \"1.1 Sum a row\"", measurement_of(kBlockSum, {expected_sums})};
}

Exercise forward_exercise() {
  return {"rmsnorm/forward", "The forward pass", "01_rmsnorm/forward.cu",
          "docs/01_rmsnorm.md, \"1.2 The forward pass\"",
          measurement_of(kForward, {expected_rstd, expected_y})};
}

Exercise forward_fast_exercise() {
  Measurement measurement = measurement_of(kForwardFast, {expected_rstd, expected_y});
  for (const Shape& wide : {Shape{32768, 8192, Dtype::bf16}, Shape{8192, 16384, Dtype::bf16},
                            Shape{4096, 32768, Dtype::bf16}, Shape{4096, 65536, Dtype::bf16}}) {
    measurement.bandwidth.push_back(wide);
  }
  return {"rmsnorm/forward_fast", "At the speed of memory", "01_rmsnorm/forward_fast.cu",
          "docs/01_rmsnorm.md, \"1.4 At the speed of memory\"", std::move(measurement)};
}

Exercise backward_exercise() {
  Measurement measurement = measurement_of(kBackward, {expected_dx}, {expected_dweight});
  // Narrow, so that the rows outnumber the blocks: their partial sums do not count then.
  measurement.traffic = {{2048, 32, Dtype::fp32}};
  measurement.bandwidth = {{4096, 4096, Dtype::fp16},
                           {4096, 8192, Dtype::fp16},
                           {4096, 8192, Dtype::fp32},
                           {16384, 4096, Dtype::bf16},
                           {8192, 16384, Dtype::bf16}};
  return {"rmsnorm/backward", "The backward pass", "01_rmsnorm/backward.cu",
          "docs/01_rmsnorm.md, \"1.3 The backward pass\"", std::move(measurement)};
}

Exercise residual_exercise() {
  return {"rmsnorm/residual", "With the residual", "01_rmsnorm/residual.cu",
          "docs/01_rmsnorm.md, \"1.5 With the residual\"",
          measurement_of(kResidual, {expected_sum, expected_residual_rstd, expected_residual_y})};
}

}  // namespace
}  // namespace onepass::rmsnorm

int main(int argc, char** argv) {
  using namespace onepass::rmsnorm;
  return onepass::verdict::grade({"rmsnorm",
                                  {block_sum_exercise(), forward_exercise(), backward_exercise(),
                                   forward_fast_exercise(), residual_exercise()}},
                                 argc, argv);
}
