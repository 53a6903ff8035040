// Calls of chapter 3's functions, with the names of buffers and scalars that the bindings ask for,
// and what their outputs must be. A tensor [tokens, heads, head_dim] is a matrix of tokens rows and
// heads * head_dim columns.
#pragma once

#include <cstdint>
#include <string>

#include "chapters/rope/reference.h"
#include "verdict/case.h"
#include "verdict/session/session.h"

namespace onepass::rope {

using verdict::Case;
using verdict::Dtype;
using verdict::Expectation;
using verdict::Layout;
using verdict::Matrix;

/// Cosines and sines, [rows, half], of one dtype.
struct Tables {
  Matrix cos, sin;
};

// ---- rope_interleaved: x [tokens, heads * head_dim] in place, cos and sin [rows, half] ----

/// Where the tensors of a call of 3.1 or 3.2 lie; strides are not for them.
struct Places {
  Layout x, tables;
};

Case interleaved_call(Matrix x, Tables tables, std::int64_t heads, Places places = {});

// ---- rope_backward: dy -> dx, apart or in the same place ----

Case backward_call(Matrix dy, Tables tables, std::int64_t heads, Places places = {});
Case backward_in_place_call(Matrix dy, Tables tables, std::int64_t heads, Places places = {});

// ---- rope_half_split: q and k in place ----

struct HalfSplit {
  Matrix q, k;  // [tokens, heads * head_dim]
  std::int64_t q_heads = 1;
  std::int64_t k_heads = 1;
  Matrix positions;  // [tokens, 1], int32 or int64
  Tables tables;     // fp32, or int64 positions and the dtype of q
  Layout q_layout, k_layout, tables_layout;
};

Case half_split_call(HalfSplit arguments);

// ---- for all of them ----

/// The tensor that becomes `output`, as it was before the call, and its angles.
Heads heads_of(const Case& call, const std::string& output);

/// Is this a call that turns back?
bool is_backward(const Case& call);

/// What the output must be: of "x", "dx", "q" or "k".
Expectation expected(const Case& call, const std::string& output);

}  // namespace onepass::rope
