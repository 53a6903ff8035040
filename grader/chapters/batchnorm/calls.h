// Calls of chapter 4's functions, with the names of buffers and scalars that the bindings ask for,
// and what their outputs must be. x and y are matrices [batch * channels, space]; what there is for
// each channel is [channels, 1].
#pragma once

#include <cstdint>
#include <string>

#include "chapters/batchnorm/reference.h"
#include "chapters/common/calls.h"

namespace onepass::batchnorm {

using namespace common;

extern const Function kForward, kEvaluate, kForwardFast;

struct Arguments {
  Matrix x;                          // [batch * channels, space]
  Matrix weight, bias;               // [channels, 1]
  Matrix running_mean, running_var;  // [channels, 1], fp32
  float eps = 1e-5f;
  float momentum = 0.1f;
  Arrangement arrangement;
};

/// Of any of them.
Case call_of(const Function& function, Arguments arguments);

bool is_training(const Case& call);
Inputs inputs_of(const Case& call);
/// The same with this for x, [channels, count].
Inputs inputs_of(const Case& call, Field x);
/// What "y", "running_mean", "running_var", "save_mean" or "save_rstd" must be after a call of 4.1
/// or 4.3, and "y" after one of 4.2.
Expectation expected(const Case& call, const std::string& output);

/// The same from the inputs themselves.
Expectation expected_in_training(const Inputs& in, const std::string& output);
Expectation expected_in_evaluation(const Inputs& in);

}  // namespace onepass::batchnorm
