// The inputs that chapter 3's checks share: sizes of heads, tensors and tables.
#pragma once

#include <cstdint>
#include <vector>

#include "chapters/common/sweeps.h"
#include "chapters/rope/calls.h"

namespace onepass::rope {

/// A head of each, of so few elements that there may be many tokens.
inline const verdict::contract::Sizes kNarrow = {
    {"q_heads", 1}, {"k_heads", 1}, {"head_dim", 16}, {"rotary_dim", 16}, {"table_rows", 8192}};

/// Elements of a head, 2 to 258: such that its pairs end around vectors, warps and blocks.
std::vector<std::int64_t> head_dims();

/// The base of the frequencies; pair i of d / 2 turns by base^(-2i / d) from token to token.
inline constexpr double kBase = 10000.0;

/// [tokens, heads * head_dim].
inline Matrix random_x(Dtype dtype, std::int64_t tokens, std::int64_t cols, double deviation = 1.0,
                       const char* tensor = "x") {
  return random_tensor(tensor, dtype, tokens, cols, 0.0, deviation);
}

/// Row r holds the angles of position first + r.
Tables tables(std::int64_t first, std::int64_t rows, std::int64_t half, Dtype dtype = Dtype::fp32,
              double base = kBase);

/// [tokens, 1].
Matrix positions(Dtype dtype, const std::vector<std::int64_t>& values);

/// 0, 1, 2, ...
std::vector<std::int64_t> counting(std::int64_t tokens);

/// `count` positions below `rows`, drawn from the seed, most of them different.
std::vector<std::int64_t> drawn_positions(std::int64_t count, std::int64_t rows);

/// A shape drawn from the seed, so that no list of shapes can be learned by heart.
struct DrawnShape {
  Dtype dtype;
  std::int64_t tokens, heads, k_heads, head_dim, rotary_dim;
  std::int64_t first;  // position
};
DrawnShape drawn_shape(std::uint64_t number);
/// How its tensors lie: plainly, and in a way that is drawn.
std::vector<Arrangement> drawn_arrangements(const Function& function, std::uint64_t number);

/// A small call in every type in which token 0 does not turn, as at position 0, and the pairs of
/// the others turn by quarters, or not. Where nothing turns, the result has to be written
/// nevertheless if it lies elsewhere.
void check_quarter_turns(const Function& function, const CheckCall& check);

/// More pairs than a GPU runs threads at once, in odd numbers of heads and pairs: threads that go
/// on come to other pairs of other heads, and to the next token in the middle of one.
void check_long_walks(const Function& function, const CheckCall& check);

/// Of a function whose tables have a row a token: so many tokens that the pairs, then the elements
/// of a table too, are beyond 2^31 and 2^32.
void check_far_tokens(const Function& function, const verdict::Outputs& outputs);

}  // namespace onepass::rope
