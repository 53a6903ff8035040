// Chapter 3's exercises, for the comparison with PyTorch.
#include "chapters/rope/calls.h"
#include "chapters/rope/shapes.h"
#include "tests/pytorch/draw.h"
#include "tests/pytorch/subjects.h"

namespace onepass::agreement {
namespace {

using namespace rope;
using Expectations = std::vector<Expectation>;

constexpr std::int64_t kMostTokens = 40;
constexpr std::int64_t kMostHeads = 9;
constexpr std::int64_t kMostPairs = 80;
constexpr std::int64_t kLastPosition = 100'000;

/// x or dy, and tables that begin at any position.
struct Turn {
  Matrix x;
  Tables tables;
};

Turn draw_turn(const Random& random, Dtype dtype) {
  Draw draw(random);
  const std::int64_t tokens = draw.size(1, kMostTokens);
  const std::int64_t heads = draw.integer(1, kMostHeads);
  const std::int64_t pairs = draw.size(1, kMostPairs);
  const std::int64_t first = draw.size(1, kLastPosition);
  return {draw.normal(dtype, tokens, heads * 2 * pairs), tables(first, tokens, pairs)};
}

Case draw_interleaved(const Random& random, Dtype dtype) {
  Turn turn = draw_turn(random, dtype);
  return call_of(kInterleaved, std::move(turn.x), std::move(turn.tables));
}

Case draw_backward(const Random& random, Dtype dtype) {
  Turn turn = draw_turn(random, dtype);
  return call_of(kBackward, std::move(turn.x), std::move(turn.tables));
}

/// q, k, their positions and angles, for 3.3 and what builds on it.
QAndK draw_q_and_k(Draw& draw, Dtype dtype) {
  const std::int64_t tokens = draw.size(1, kMostTokens);
  const std::int64_t pairs = draw.size(1, kMostPairs);
  const std::int64_t rotary_pairs = draw.coin() ? pairs : draw.integer(1, pairs);
  const std::int64_t rows = draw.size(1, 300);  // of the tables
  QAndK arguments;
  arguments.q_heads = draw.integer(1, kMostHeads);
  arguments.k_heads = draw.integer(1, 4);
  arguments.q = draw.normal(dtype, tokens, arguments.q_heads * 2 * pairs);
  arguments.k = draw.normal(dtype, tokens, arguments.k_heads * 2 * pairs);
  arguments.arrangement = {{"q", draw.place()}, {"k", draw.place()}};
  const bool own_tables = draw.coin();
  arguments.tables =
      tables(draw.size(1, kLastPosition), rows, rotary_pairs, own_tables ? dtype : Dtype::fp32);
  const bool wide = own_tables || draw.coin();
  arguments.positions = draw.uniform(wide ? Dtype::int64 : Dtype::int32, tokens, 1, 0.0,
                                     static_cast<double>(rows - 1));  // rounded
  return arguments;
}

Case draw_half_split(const Random& random, Dtype dtype) {
  Draw draw(random);
  return q_and_k_call(kHalfSplit, draw_q_and_k(draw, dtype));
}

Case draw_qk_norm(const Random& random, Dtype dtype) {
  Draw draw(random);
  QAndK arguments = draw_q_and_k(draw, dtype);
  const std::int64_t head_dim = arguments.q.cols() / arguments.q_heads;
  arguments.q_weight = draw.uniform(dtype, 1, head_dim, 0.5, 1.5);
  arguments.k_weight = draw.uniform(dtype, 1, head_dim, 0.5, 1.5);
  arguments.eps = draw.one_of({1e-6f, 1e-5f, 1e-3f, 0.0f});  // as the kernel gets it, in fp32
  return q_and_k_call(kQkNorm, std::move(arguments));
}

Expectations expected_of_interleaved(const Case& call) {
  return {expected(call, "x")};
}

Expectations expected_of_backward(const Case& call) {
  return {expected(call, "dx")};
}

Expectations expected_of_q_and_k(const Case& call) {
  return {expected(call, "q"), expected(call, "k")};
}

}  // namespace

std::vector<Subject> rope_subjects() {
  return {{"rope/interleaved", draw_interleaved, expected_of_interleaved},
          {"rope/backward", draw_backward, expected_of_backward},
          {"rope/half_split", draw_half_split, expected_of_q_and_k},
          {"rope/qk_norm", draw_qk_norm, expected_of_q_and_k}};
}

}  // namespace onepass::agreement
