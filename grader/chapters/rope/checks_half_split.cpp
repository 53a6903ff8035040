// The checks of exercise 3.3. Those of TODO 1 look at q only, with token t at row t of the tables;
// those of TODO 2 at q only; those of TODO 3 at q and k.
#include <cmath>
#include <utility>

#include "chapters/common/check.h"
#include "chapters/rope/mistakes.h"
#include "chapters/rope/shapes.h"
#include "verdict/compare.h"

namespace onepass::rope::half_split_checks {
namespace {

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
};

Case call_of(const Shape& shape) {
  const std::int64_t rotary_dim = shape.rotary_dim == 0 ? shape.head_dim : shape.rotary_dim;
  const std::int64_t q_cols = shape.q_heads * shape.head_dim;
  const std::int64_t k_cols = shape.k_heads * shape.head_dim;
  const std::vector<std::int64_t> ids = shape.ids.empty() ? counting(shape.tokens) : shape.ids;
  HalfSplit arguments;
  arguments.q = random_x(shape.dtype, shape.tokens, q_cols, shape.deviation, "q");
  arguments.k = random_x(shape.dtype, shape.tokens, k_cols, shape.deviation, "k");
  arguments.q_heads = shape.q_heads;
  arguments.k_heads = shape.k_heads;
  arguments.positions = positions(shape.own_tables ? Dtype::int64 : shape.position_dtype, ids);
  arguments.tables = tables(shape.first, shape.rows == 0 ? shape.tokens : shape.rows,
                            rotary_dim / 2, shape.own_tables ? shape.dtype : Dtype::fp32);
  arguments.arrangement = shape.arrangement;
  return half_split_call(std::move(arguments));
}

void check_q(const Shape& shape) {
  expect<half_split_mistakes>(call_of(shape), outputs_of(expected, {"q"}));
}

void check_both(const Shape& shape) {
  expect<half_split_mistakes>(call_of(shape), outputs_of(expected, {"q", "k"}));
}

/// In every way that the tensors may lie; only: those that matter.
void check_arrangements(void (*check)(const Shape&), const Function& function,
                        const std::set<std::string>& only = {}) {
  const auto check_way = [&](Dtype dtype, std::size_t number, const verdict::contract::Way& way) {
    check({.dtype = dtype,
           .head_dim = (number % 2 == 0 ? 32 : 64) + (way.odd_rows ? 2 : 0),
           .own_tables = &function == &kHalfSplitOwnTables,
           .arrangement = way.arrangement});
  };
  sweep(function, check_way, only);
  for (const Arrangement& arrangement :
       columns_off_boundaries(function, Dtype::fp32, only)) {  // positions
    check({.tokens = 9,
           .position_dtype = function.tensors[2].dtype_in(Dtype::fp32),
           .own_tables = &function == &kHalfSplitOwnTables,
           .arrangement = arrangement});
  }
}

/// Four tokens whose rows of the tables are so far apart: the last one's place, or its position
/// itself, is beyond 2^31. lost_bits: what it is if that does not go well.
void check_far_positions(const Function& function, std::int64_t half, std::int64_t apart,
                         const verdict::Diagnosis& lost_bits) {
  const Case few = half_split_call(
      {.q = random_x(Dtype::fp16, 4, 2 * half, 1.0, "q"),
       .k = random_x(Dtype::fp16, 4, 2 * half, 1.0, "k"),
       .positions = positions(&function == &kHalfSplit ? Dtype::int32 : Dtype::int64, counting(4)),
       .tables = tables(5, 4, half, &function == &kHalfSplitOwnTables ? Dtype::fp16 : Dtype::fp32),
       .arrangement = {}});
  const auto spread = [&](std::int64_t rows) {
    std::vector<verdict::Buffer> buffers = few.buffers();
    for (verdict::Buffer& buffer : buffers) {
      if (buffer.name == "positions") {
        buffer.values = changed(buffer.values, [&](auto, auto, double position) {
          return position * static_cast<double>(rows);
        });
      } else if (buffer.name == "cos" || buffer.name == "sin") {
        buffer.layout.stride = rows * half;
      }
    }
    return few.with(std::move(buffers));
  };
  session().expect_far(few, spread, {.far = apart, .below = 8'900'001, .near = 400'001},
                       outputs_of(expected, {"q", "k"}), lost_bits);
}

TEST_SUITE("rope/half_split") {
  // ---- TODO 1: q, at rows 0, 1, 2, ... ----

  CHECK_CASE("heads of 2 to 258 elements: pair i is elements i and i + rotary_dim / 2", points(2),
             todo(1)) {
    for (Dtype dtype : kEveryDtype) {
      for (std::int64_t head_dim : head_dims()) {
        check_q({.dtype = dtype, .tokens = 2, .head_dim = head_dim});
      }
    }
  }

  CHECK_CASE("partial rotary: elements from rotary_dim on stay as they are", points(2), todo(1)) {
    for (Dtype dtype : kEveryDtype) {
      Shape shape = {.dtype = dtype, .head_dim = 64};
      shape.rows = 40;  // who turns more than that still finds an angle
      for (std::int64_t tokens : {1, 3}) {
        for (std::int64_t rotary_dim : {2, 6, 16, 32, 62, 64}) {
          shape.tokens = tokens;
          shape.rotary_dim = rotary_dim;
          check_q(shape);
        }
      }
      // The pairs would fit in 16 bytes, but not every head starts there.
      for (std::int64_t head_dim : {66, 68}) {
        shape.head_dim = head_dim;
        shape.rotary_dim = 32;
        shape.q_heads = 4;
        shape.arrangement = {{"k", {72 - head_dim}}};
        check_q(shape);
      }
    }
  }

  CHECK_CASE("fp16 and bf16: the result is rounded once, at the very end", points(1), todo(1)) {
    for (Dtype dtype : kSixteenBit) {
      check_q({.dtype = dtype, .head_dim = 128});
      check_q({.dtype = dtype, .head_dim = 128, .deviation = 1000.0});
    }
  }

  CHECK_CASE("tables in the tensor's own type", points(1), todo(1)) {
    for (Dtype dtype : kEveryDtype) {
      for (std::int64_t head_dim : {6, 64, 66}) {
        check_q({.dtype = dtype, .head_dim = head_dim, .own_tables = true});
      }
    }
  }

  CHECK_CASE("tokens of q lie q_stride elements apart, at any address", points(1), todo(1)) {
    check_arrangements(check_q, kHalfSplit, {"q", "cos", "sin"});
  }

  // ---- TODO 2: positions ----

  CHECK_CASE("each token turns by the row that positions gives it", points(2), todo(2)) {
    for (Dtype dtype : kEveryDtype) {
      Shape shape = {.dtype = dtype, .tokens = 7, .rows = 50, .ids = drawn_positions(7, 40)};
      check_q(shape);
      shape.ids = {9, 10, 11, 12, 13, 14, 15};  // a text that is continued
      check_q(shape);
      shape.head_dim = 66;
      check_q(shape);
    }
  }

  CHECK_CASE("positions of 64 bits", points(1), todo(2)) {
    for (Dtype dtype : kEveryDtype) {
      check_q({.dtype = dtype,
               .tokens = 5,
               .position_dtype = Dtype::int64,
               .rows = 50,
               .ids = {31, 7, 18, 49, 3}});
    }
  }

  CHECK_CASE("two sequences in one batch: the second begins at position 0 again", points(1),
             todo(2)) {
    for (Dtype dtype : kEveryDtype) {
      check_q({.dtype = dtype, .tokens = 7, .rows = 7, .ids = {0, 1, 2, 3, 0, 1, 2}});
    }
  }

  CHECK_CASE("position 32,768 and beyond: the angles are those of the tables", points(1), todo(2)) {
    for (Dtype position_dtype : {Dtype::int32, Dtype::int64}) {
      check_q({.tokens = 4,
               .head_dim = 4,
               .position_dtype = position_dtype,
               .first = 0,
               .rows = 70000,
               .ids = {32768, 40001, 65536, 69999}});
    }
    const auto expect_q = [](const Case& call) {
      expect<half_split_mistakes>(call, outputs_of(expected, {"q"}));
    };
    check_any_numbers(kHalfSplit, expect_q);
    check_quarter_turns(kHalfSplit, expect_q);
  }

  // ---- TODO 3: k ----

  CHECK_CASE("k turns too, whether it has as many heads as q or fewer", points(3), todo(3)) {
    const std::vector<std::pair<std::int64_t, std::int64_t>> heads = {{1, 1}, {2, 2}, {8, 2},
                                                                      {8, 1}, {6, 3}, {1, 4}};
    for (Dtype dtype : kEveryDtype) {
      for (const auto& [q_heads, k_heads] : heads) {
        check_both({.dtype = dtype,
                    .tokens = 5,
                    .q_heads = q_heads,
                    .k_heads = k_heads,
                    .rows = 20,
                    .ids = {7, 7, 19, 0, 3}});
      }
    }
  }

  CHECK_CASE("k, with partial rotary and tables of its own type", points(1), todo(3)) {
    for (Dtype dtype : kEveryDtype) {
      for (std::int64_t rotary_dim : {20, 32, 80}) {
        check_both({.dtype = dtype,
                    .q_heads = 4,
                    .k_heads = 2,
                    .head_dim = 80,
                    .rotary_dim = rotary_dim,
                    .own_tables = rotary_dim != 20,
                    .rows = 40});
      }
    }
    check_quarter_turns(kHalfSplitOwnTables, [](const Case& call) {
      expect<half_split_mistakes>(call, outputs_of(expected, {"q", "k"}));
    });
  }

  CHECK_CASE("q and k are slices of one tensor: each has a stride of its own", points(2), todo(3)) {
    for (Dtype dtype : kEveryDtype) {
      check_both({.dtype = dtype,
                  .q_heads = 4,
                  .k_heads = 2,
                  .arrangement = {{"q", {4 * 16}}, {"k", {6 * 16}}}});
    }
    check_arrangements(check_both, kHalfSplit);
    check_arrangements(check_both, kHalfSplitOwnTables);
  }

  // Who takes another token's row has wrong numbers, which tell more than an address past the
  // table.
  CHECK_CASE("token * stride is beyond 2^31: compute it in 64 bits", points(1), todo(3)) {
    for (const Arrangement& arrangement : verdict::contract::far_apart(kHalfSplit)) {
      check_both({.dtype = Dtype::fp16, .arrangement = arrangement});
    }
    check_far_rows(
        kHalfSplit, "tokens",
        {{"q_heads", 2}, {"k_heads", 1}, {"head_dim", 32}, {"rotary_dim", 32}, {"table_rows", 300}},
        outputs_of(expected, {"q", "k"}));
    check_most_rows(
        kHalfSplit, "tokens",
        {{"q_heads", 1}, {"k_heads", 1}, {"head_dim", 2}, {"rotary_dim", 2}, {"table_rows", 300}},
        outputs_of(expected, {"q", "k"}));
    check_far_positions(kHalfSplit, 4, 270'000'001,
                        verdict::Diagnosis{"index-overflow",
                                           "The place in the tables, position * rotary_dim / 2, is "
                                           "beyond 2^31 here: compute it in 64 bits, as int64_t."});
    // What goes well with places beyond 2^31 goes wrong here because of the position.
    check_far_positions(kHalfSplitOwnTables, 1, 1'500'000'001,
                        verdict::Diagnosis{"position-width",
                                           "A position is beyond 2^31 here, and was cut to 32 bits "
                                           "somewhere: keep it in the type that is given, or in "
                                           "64 bits."});
  }

  CHECK_CASE("no tokens, one token, many tokens: each is turned", points(1), todo(3)) {
    check_both({.tokens = 1, .head_dim = 4});
    expect_nothing_done(kHalfSplit);
    check_both({.tokens = 129, .head_dim = 4});
    sweep_large_sizes(kHalfSplit,
                      {{"tokens", "table_rows"},
                       {"q_heads"},
                       {"k_heads"},
                       {"head_dim"},
                       {"rotary_dim", "head_dim"}},
                      [](const Case& call) {
                        expect<half_split_mistakes>(call, outputs_of(expected, {"q", "k"}));
                      });
  }

  CHECK_CASE("heads of a language model: 32 of q, 8 of k, 128 elements each", points(1), todo(3)) {
    for (Dtype dtype : kEveryDtype) {
      check_both({.dtype = dtype, .tokens = 1, .q_heads = 32, .k_heads = 8, .head_dim = 128});
    }
  }

  CHECK_CASE("called again, on other numbers or the same, it is right again", points(1), todo(3)) {
    for (int repeat = 0; repeat < 4; ++repeat) {
      check_both({.dtype = Dtype::fp32});
      check_both({.dtype = Dtype::bf16, .tokens = 2 + repeat});
    }
    check_side_by_side([](std::int64_t tokens) {
      check_both({.dtype = Dtype::fp32, .tokens = tokens, .q_heads = 6, .head_dim = 40});
    });
  }

  CHECK_CASE("shapes drawn at random, and numbers at the ends of the types, infinite and NaN",
             points(1), todo(3)) {
    for (std::uint64_t number = 0; number < 10; ++number) {
      const DrawnShape drawn = drawn_shape(number);
      Shape shape = {.dtype = drawn.dtype,
                     .tokens = drawn.tokens,
                     .q_heads = drawn.heads,
                     .k_heads = drawn.k_heads,
                     .head_dim = drawn.head_dim,
                     .rotary_dim = drawn.rotary_dim,
                     .position_dtype = number % 2 == 0 ? Dtype::int32 : Dtype::int64,
                     .own_tables = number % 3 == 2,
                     .first = drawn.first,
                     .rows = 30,
                     .ids = drawn_positions(drawn.tokens, 30)};
      for (const Arrangement& arrangement : drawn_arrangements(kHalfSplit, number)) {
        shape.arrangement = arrangement;
        check_both(shape);
      }
    }
    for (double size : {1e-6, 1e4}) {
      for (Dtype dtype : kEveryDtype) {
        check_both({.dtype = dtype, .deviation = size});
      }
    }
    check_not_finite(call_of({.dtype = Dtype::fp16}), outputs_of(expected, {"q", "k"}),
                     expect<half_split_mistakes>);
  }
}

}  // namespace
}  // namespace onepass::rope::half_split_checks
