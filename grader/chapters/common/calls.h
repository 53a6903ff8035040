// What the calls of all chapters are made of, and what operators on rows share: the numbers of a
// call, and what gradients must be.
#pragma once

#include <optional>
#include <string>

#include "chapters/common/backward.h"
#include "chapters/common/forward.h"
#include "chapters/common/rows.h"
#include "verdict/bounds.h"
#include "verdict/contract/call.h"
#include "verdict/session/session.h"

namespace onepass::common {

using verdict::Case;
using verdict::Dtype;
using verdict::Expectation;
using verdict::Field;
using verdict::Matrix;
using verdict::contract::Arrangement;
using verdict::contract::Function;

/// A call says eps in fp64; the kernel, and so the reference, gets it rounded to fp32.
double eps_of(const Case& call);

/// What a call of a forward function gives its pass. Without a "mean" it is RMSNorm's; without a
/// weight it has ones, without a bias zeros.
Forward forward_of(const Case& call);
/// An output of such a call with hooks, for the chapters' mistakes.
std::optional<Field> forward_reference(const Case& call, const std::string& output,
                                       const ForwardHooks& hooks);

/// The sums down the columns of terms [rows, cols], stored in the call's type. sizes: of each term
/// what u multiplies; its magnitude, unless it is itself a difference.
Expectation expected_column_sums(const char* output, const Case& call, const Field& terms,
                                 const Field& sizes);

/// What a backward pass must give, stored in its type: each computed in fp32 and rounded once.
Expectation expected_gradient(Backward pass);
Expectation expected_weight_gradient(const Case& call, Backward pass);

}  // namespace onepass::common
