// Calls of chapter 2's functions, with the names of buffers and scalars that the bindings ask for,
// and what their outputs must be.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "chapters/layernorm/reference.h"
#include "verdict/case.h"
#include "verdict/session/session.h"

namespace onepass::layernorm {

using verdict::Case;
using verdict::Dtype;
using verdict::Expectation;
using verdict::Layout;
using verdict::Matrix;

// ---- 2.1: x [rows, cols], weight, bias [1, cols] or none, eps -> y, mean, rstd [rows, 1] ----

struct ForwardLayout {
  Layout x, weight, bias, y;
};

Case forward_call(Matrix x, std::optional<Matrix> weight, std::optional<Matrix> bias, float eps,
                  ForwardLayout layout = {});
Expectation expected_mean(const Case& call);
Expectation expected_rstd(const Case& call);
Expectation expected_y(const Case& call);

// ---- 2.2 to 2.4: dy, x [rows, cols], weight [1, cols], mean, rstd [rows, 1] -> dx [rows, cols],
// dweight, dbias [1, cols], and in "returned" [1, 1] the promise of the launcher ----

struct Gradients {
  Matrix dy, x;
  std::optional<Matrix> weight;
  Matrix mean, rstd;
};

struct BackwardLayout {
  Layout dy, x, weight, dx;
  bool no_rows = false;  // the call says rows = 0, whatever the buffers hold
};

/// dy and x, with the weight and x's own statistics, rounded to fp32 as the forward pass saves
/// them.
Gradients gradients(Matrix dy, Matrix x, std::optional<Matrix> weight, double eps = 1e-5);

Case dx_call(Gradients inputs, BackwardLayout layout = {});
Case sums_call(Gradients inputs, BackwardLayout layout = {});
Case fused_call(Gradients inputs, BackwardLayout layout = {});
Expectation expected_dx(const Case& call);
Expectation expected_dweight(const Case& call);
Expectation expected_dbias(const Case& call);

/// The numbers of a call. Those of a weight or bias that is not there: ones, or zeros.
Field values_or(const Case& call, const char* name, double otherwise);
/// x_hat and wdy = weight * dy of a backward call.
Field x_hat_of(const Case& call);
Field wdy_of(const Case& call);
/// The calls' eps is fp32; references need the number that the kernel gets.
double eps_of(const Case& call);

}  // namespace onepass::layernorm
