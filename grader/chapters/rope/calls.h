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

/// A function on q and k, for the types of tables and positions with which it is called: tables in
/// fp32 and positions of 32 or 64 bits; tables of the tensor's own type and positions of 64.
struct OnQAndK {
  Function int32, int64, own_tables;
};
extern const OnQAndK kHalfSplit;
/// rope_fast, whose usual pairing is this one.
extern const OnQAndK kFastInterleaved, kFastSplit;
extern const OnQAndK kQkNorm;

/// Cosines and sines, [rows, half], of one dtype.
struct Tables {
  Matrix cos, sin;
};

// ---- rope_interleaved: x [tokens, heads * head_dim] in place, cos and sin [rows, half];
// rope_backward: dy -> dx, apart or in the same place ----

Case call_of(const Function& function, Matrix x_or_dy, Tables tables,
             const Arrangement& arrangement = {});

// ---- rope_half_split, rope_fast, rope_qk_norm: q and k in place ----

struct QAndK {
  Matrix q, k;  // [tokens, heads * head_dim]
  std::int64_t q_heads = 1;
  std::int64_t k_heads = 1;
  Matrix positions;  // [tokens, 1], int32 or int64
  Tables tables;     // fp32, or int64 positions and the dtype of q
  std::optional<Matrix> q_weight = {}, k_weight = {};  // of rope_qk_norm
  std::optional<double> eps = {};                      // of the same; nothing: the usual one
  Arrangement arrangement;
};

Case q_and_k_call(const OnQAndK& functions, QAndK arguments);

// ---- for all of them ----

/// The tensor that becomes `output`, as it was before the call, and its angles.
Heads heads_of(const Case& call, const std::string& output);

/// Does the call normalise the heads before it turns them? Then norm_of() is what it does: a row a
/// head. normalised() gives that as it is in x: [tokens, heads * head_dim].
bool is_normalising(const Case& call);
Forward norm_of(const Case& call, const std::string& output);
Field normalised(const Case& call, const std::string& output);
/// The same numbers in rows of so many.
Field in_rows(const Field& field, std::int64_t cols);

/// Is this a call that turns back?
bool is_backward(const Case& call);

/// What the output must be: of "x", "dx", "q" or "k".
Expectation expected(const Case& call, const std::string& output);

}  // namespace onepass::rope
