#include "chapters/rmsnorm/functions.h"

#include <onepass/rmsnorm_types.h>

namespace onepass::rmsnorm {

using verdict::Dtype;
using namespace verdict::contract;

namespace {

const Size kRows = {"rows", 0};
const Size kCols = {"cols", 1, 65'536};

Tensor weight() {
  return input("weight", 1, "cols").filled(1.0, 0.5);
}

Tensor row_result(const char* name) {
  return output(name, "rows", 1).of(Dtype::fp32);
}

std::int64_t scratch_size(const Sizes& sizes) {
  return rmsnorm_scratch_size(static_cast<int>(sizes.at("rows")),
                              static_cast<int>(sizes.at("cols")));
}

}  // namespace

const Function& block_sum_function() {
  static const Function function = {
      "block_sum", {kRows, kCols}, {input("x", "rows", "cols").strided(), row_result("sums")}, {}};
  return function;
}

const Function& forward_function() {
  static const Function function = {"rmsnorm_forward",
                                    {kRows, kCols},
                                    {input("x", "rows", "cols").strided(), weight(),
                                     output("y", "rows", "cols").strided(), row_result("rstd")},
                                    {{"eps", 1e-6}}};
  return function;
}

const Function& forward_fast_function() {
  static const Function function = {"rmsnorm_forward_fast",
                                    {kRows, {"cols", 1, 262'144}},
                                    {input("x", "rows", "cols").strided(), weight().optional(),
                                     output("y", "rows", "cols").strided(), row_result("rstd")},
                                    {{"eps", 1e-6}}};
  return function;
}

/// rstd is numbers of its own in a timed call: close to those of x, which is uniform in [-1, 1).
const Function& backward_function() {
  static const Function function = {
      "rmsnorm_backward",
      {kRows, kCols},
      {input("dy", "rows", "cols").strided(), input("x", "rows", "cols").strided(), weight(),
       input("rstd", "rows", 1).of(Dtype::fp32).filled(1.7, 0.1),
       output("dx", "rows", "cols").strided(), output("dweight", 1, "cols"),
       scratch("scratch", scratch_size)},
      {{"order", static_cast<std::int64_t>(CastOrder::llama)}}};
  return function;
}

const Function& residual_function() {
  static const Function function = {
      "rmsnorm_residual",
      {kRows, kCols},
      {input("x", "rows", "cols").strided(),
       input("residual", "rows", "cols").strided().filled(0.0, 2.0), weight(),
       output("sum", "rows", "cols").strided().over("residual"),
       output("y", "rows", "cols").strided().over("x"), row_result("rstd")},
      {{"eps", 1e-6}}};
  return function;
}

}  // namespace onepass::rmsnorm
