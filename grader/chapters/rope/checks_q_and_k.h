// What the checks of functions on q and k share. 3.3, 3.4 and 3.5 take the same, but for what 3.5
// takes besides, so that the same calls try all of them.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "chapters/common/check.h"
#include "chapters/rope/calls.h"

namespace onepass::rope {

/// What a check varies; the rest is as small and plain as it can be.
struct Shape {
  Dtype dtype = Dtype::fp32;
  std::int64_t tokens = 3;
  std::int64_t q_heads = 2;
  std::int64_t k_heads = 1;
  std::int64_t head_dim = 16;
  std::int64_t rotary_dim = 0;  // 0: head_dim
  Dtype position_dtype = Dtype::int32;
  bool own_tables = false;             // of the tensor's dtype; then positions are int64
  std::int64_t first = 5;              // row 0 of the tables is position 5: at 0 nothing turns
  std::int64_t rows = 0;               // of the tables; 0: as many as tokens
  std::vector<std::int64_t> ids = {};  // rows of the tables; empty: 0, 1, 2, ...
  Arrangement arrangement = {};
  double deviation = 1.0;
  std::optional<double> eps = {};  // where heads are normalised; nothing: the usual one
};

/// A function, and which of its outputs are looked at: "q", or "q" and "k".
struct Subject {
  const OnQAndK* functions;
  const std::vector<verdict::Oracle>& (*mistakes)();
  Outputs outputs;

  Case call_of(const Shape& shape) const;
  void check(const Shape& shape) const;
  void expect(const Case& call) const;
};

// ---- Heads, and what of them is turned ----

/// Heads of 2 to 258 elements.
void check_head_dims(const Subject& subject);
void check_partial_rotary(const Subject& subject);
void check_rounded_once(const Subject& subject);
void check_own_tables(const Subject& subject);
/// As many heads of q as of k, more, and fewer.
void check_head_counts(const Subject& subject);

// ---- Positions ----

void check_positions(const Subject& subject);
void check_wide_positions(const Subject& subject);
void check_two_sequences(const Subject& subject);
/// Position 32,768 and beyond; and tables of any numbers.
void check_late_positions(const Subject& subject);

// ---- Where the tensors lie ----

/// Every way, for one of the subject's functions; only: the tensors that matter.
void check_arrangements(const Subject& subject, const Function& function,
                        const std::set<std::string>& only = {});
/// Tokens, rows of the tables and positions beyond 2^31.
void check_beyond_32_bits(const Subject& subject);

// ---- Sizes and numbers ----

void check_sizes(const Subject& subject);
void check_again(const Subject& subject);
/// Shapes drawn from the seed; small and large numbers, infinite ones and NaN.
void check_drawn_shapes(const Subject& subject);

}  // namespace onepass::rope
