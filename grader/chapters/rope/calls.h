// Calls of chapter 3's functions, with the names of buffers and scalars that the bindings ask for,
// and what their outputs must be. A tensor [tokens, heads, head_dim] is a matrix of tokens rows and
// heads * head_dim columns.
#pragma once

#include <cstdint>
#include <string>

#include "chapters/common/calls.h"
#include "chapters/rope/reference.h"

namespace onepass::rope {

using namespace common;

extern const Function kInterleaved, kBackward;
/// rope_half_split with tables in fp32 and positions of 32 bits, or what its name says else. With
/// tables of the tensor's own type positions are of 64 bits.
extern const Function kHalfSplit, kHalfSplitInt64, kHalfSplitOwnTables;

/// Cosines and sines, [rows, half], of one dtype.
struct Tables {
  Matrix cos, sin;
};

// ---- rope_interleaved: x [tokens, heads * head_dim] in place, cos and sin [rows, half];
// rope_backward: dy -> dx, apart or in the same place ----

Case call_of(const Function& function, Matrix x_or_dy, Tables tables,
             const Arrangement& arrangement = {});

// ---- rope_half_split: q and k in place ----

struct HalfSplit {
  Matrix q, k;  // [tokens, heads * head_dim]
  std::int64_t q_heads = 1;
  std::int64_t k_heads = 1;
  Matrix positions;  // [tokens, 1], int32 or int64
  Tables tables;     // fp32, or int64 positions and the dtype of q
  Arrangement arrangement;
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
