#include "chapters/rope/checks_q_and_k.h"

#include <utility>

#include "chapters/rope/shapes.h"

namespace onepass::rope {

namespace {

/// Of heads that are all as large, the mean of all squares is nearly that of each.
Matrix with_unlike_heads(const Matrix& x, std::int64_t head_dim) {
  return changed(x, [&](auto, auto col, double value) {
    return value * static_cast<double>(1 + col / head_dim % 3);
  });
}

/// What a function takes that normalises the heads.
void add_weights(const OnQAndK& functions, std::int64_t head_dim, QAndK& arguments) {
  if (functions.int32.find("q_weight") != nullptr) {
    const Dtype dtype = arguments.q.dtype();
    arguments.q = with_unlike_heads(arguments.q, head_dim);
    arguments.k = with_unlike_heads(arguments.k, head_dim);
    arguments.q_weight = random_weight(dtype, head_dim);
    arguments.k_weight = random_bias(dtype, head_dim);  // far from q's
  }
}

}  // namespace

Case Subject::call_of(const Shape& shape) const {
  const std::int64_t rotary_dim = shape.rotary_dim == 0 ? shape.head_dim : shape.rotary_dim;
  const std::int64_t q_cols = shape.q_heads * shape.head_dim;
  const std::int64_t k_cols = shape.k_heads * shape.head_dim;
  const std::vector<std::int64_t> ids = shape.ids.empty() ? counting(shape.tokens) : shape.ids;
  QAndK arguments;
  arguments.q = random_x(shape.dtype, shape.tokens, q_cols, shape.deviation, "q");
  arguments.k = random_x(shape.dtype, shape.tokens, k_cols, shape.deviation, "k");
  arguments.q_heads = shape.q_heads;
  arguments.k_heads = shape.k_heads;
  arguments.positions = positions(shape.own_tables ? Dtype::int64 : shape.position_dtype, ids);
  arguments.tables = tables(shape.first, shape.rows == 0 ? shape.tokens : shape.rows,
                            rotary_dim / 2, shape.own_tables ? shape.dtype : Dtype::fp32);
  arguments.arrangement = shape.arrangement;
  arguments.eps = shape.eps;
  add_weights(*functions, shape.head_dim, arguments);
  return q_and_k_call(*functions, std::move(arguments));
}

void Subject::expect(const Case& call) const {
  session().expect(call, outputs, mistakes());
}

void Subject::check(const Shape& shape) const {
  expect(call_of(shape));
}

// ---- Heads, and what of them is turned ----

void check_head_dims(const Subject& subject) {
  for (Dtype dtype : kEveryDtype) {
    for (std::int64_t head_dim : head_dims()) {
      subject.check({.dtype = dtype, .tokens = 2, .head_dim = head_dim});
    }
  }
}

void check_partial_rotary(const Subject& subject) {
  for (Dtype dtype : kEveryDtype) {
    Shape shape = {.dtype = dtype, .head_dim = 64};
    shape.rows = 40;  // who turns more than that still finds an angle
    for (std::int64_t tokens : {1, 3}) {
      for (std::int64_t rotary_dim : {2, 6, 16, 32, 62, 64}) {
        shape.tokens = tokens;
        shape.rotary_dim = rotary_dim;
        subject.check(shape);
      }
    }
    // The pairs would fit in 16 bytes, but not every head starts there.
    for (std::int64_t head_dim : {66, 68}) {
      shape.head_dim = head_dim;
      shape.rotary_dim = 32;
      shape.q_heads = 4;
      shape.arrangement = {{"k", {72 - head_dim}}};
      subject.check(shape);
    }
  }
}

void check_rounded_once(const Subject& subject) {
  for (Dtype dtype : kSixteenBit) {
    subject.check({.dtype = dtype, .head_dim = 128});
    subject.check({.dtype = dtype, .head_dim = 128, .deviation = 1000.0});
  }
}

void check_own_tables(const Subject& subject) {
  for (Dtype dtype : kEveryDtype) {
    for (std::int64_t head_dim : {6, 64, 66}) {
      subject.check({.dtype = dtype, .head_dim = head_dim, .own_tables = true});
    }
  }
}

void check_head_counts(const Subject& subject) {
  const std::vector<std::pair<std::int64_t, std::int64_t>> heads = {{1, 1}, {2, 2}, {8, 2},
                                                                    {8, 1}, {6, 3}, {1, 4}};
  for (Dtype dtype : kEveryDtype) {
    for (const auto& [q_heads, k_heads] : heads) {
      subject.check({.dtype = dtype,
                     .tokens = 5,
                     .q_heads = q_heads,
                     .k_heads = k_heads,
                     .rows = 20,
                     .ids = {7, 7, 19, 0, 3}});
    }
  }
}

// ---- Positions ----

void check_positions(const Subject& subject) {
  for (Dtype dtype : kEveryDtype) {
    Shape shape = {.dtype = dtype, .tokens = 7, .rows = 50, .ids = drawn_positions(7, 40)};
    subject.check(shape);
    shape.ids = {9, 10, 11, 12, 13, 14, 15};  // a text that is continued
    subject.check(shape);
    // Of any four or more the first and the last are what they would be in such a text.
    shape.ids = {9, 11, 10, 12, 14, 13, 15};
    subject.check(shape);
    shape.head_dim = 66;
    subject.check(shape);
  }
  // Tokens of a few positions, in no order: what is kept of one of them may be needed again.
  const verdict::Session::FewMultiprocessors few(session());
  constexpr std::int64_t kTokens = 700, kPositions = 4;
  subject.check(
      {.tokens = kTokens, .rows = kPositions, .ids = drawn_positions(kTokens, kPositions)});
}

void check_wide_positions(const Subject& subject) {
  for (Dtype dtype : kEveryDtype) {
    subject.check({.dtype = dtype,
                   .tokens = 5,
                   .position_dtype = Dtype::int64,
                   .rows = 50,
                   .ids = {31, 7, 18, 49, 3}});
  }
}

void check_two_sequences(const Subject& subject) {
  for (Dtype dtype : kEveryDtype) {
    subject.check({.dtype = dtype, .tokens = 7, .rows = 7, .ids = {0, 1, 2, 3, 0, 1, 2}});
  }
}

void check_late_positions(const Subject& subject) {
  for (Dtype position_dtype : {Dtype::int32, Dtype::int64}) {
    subject.check({.tokens = 4,
                   .head_dim = 4,
                   .position_dtype = position_dtype,
                   .first = 0,
                   .rows = 70000,
                   .ids = {32768, 40001, 65536, 69999}});
  }
  const auto expect = [&](const Case& call) { subject.expect(call); };
  check_any_numbers(subject.functions->int32, expect);
  check_quarter_turns(subject.functions->int32, expect);
}

// ---- Where the tensors lie ----

void check_arrangements(const Subject& subject, const Function& function,
                        const std::set<std::string>& only) {
  const auto check_way = [&](Dtype dtype, std::size_t number, const verdict::contract::Way& way) {
    subject.check({.dtype = dtype,
                   .head_dim = (number % 2 == 0 ? 32 : 64) + 2 * way.row(0, 1),
                   .own_tables = &function == &subject.functions->own_tables,
                   .arrangement = way.arrangement});
  };
  sweep(function, check_way, only);
  for (const Arrangement& arrangement :
       columns_off_boundaries(function, Dtype::fp32, only)) {  // positions
    subject.check({.tokens = 9,
                   .position_dtype = function.tensors[2].dtype_in(Dtype::fp32),
                   .own_tables = &function == &subject.functions->own_tables,
                   .arrangement = arrangement});
  }
}

namespace {

/// Four tokens whose rows of the tables are so far apart that their places are beyond 2^31.
void check_far_positions(const Subject& subject) {
  constexpr std::int64_t kHalf = 200, kFarHeadDim = 2 * kHalf;
  QAndK arguments = {.q = random_x(Dtype::fp16, 4, kFarHeadDim, 1.0, "q"),
                     .k = random_x(Dtype::fp16, 4, kFarHeadDim, 1.0, "k"),
                     .positions = positions(Dtype::int32, counting(4)),
                     .tables = tables(5, 4, kHalf, Dtype::fp32),
                     .arrangement = {}};
  add_weights(*subject.functions, kFarHeadDim, arguments);
  const Case few = q_and_k_call(*subject.functions, std::move(arguments));
  const auto spread = [&](std::int64_t rows) {
    std::vector<verdict::Buffer> buffers = few.buffers();
    for (verdict::Buffer& buffer : buffers) {
      if (buffer.name == "positions") {
        buffer.values = changed(buffer.values, [&](auto, auto, double position) {
          return position * static_cast<double>(rows);
        });
      } else if (buffer.name == "cos" || buffer.name == "sin") {
        buffer.layout.stride = rows * kHalf;
      }
    }
    return few.with(std::move(buffers));
  };
  session().expect_far(few, spread, {.far = 5'500'001, .below = 170'001, .near = 70'001},
                       subject.outputs,
                       verdict::Diagnosis{"index-overflow",
                                          "The place in the tables, position * rotary_dim / 2, is "
                                          "beyond 2^31 here: compute it in 64 bits, as int64_t."});
}

}  // namespace

// Who takes another token's row has wrong numbers, which tell more than an address past the table.
void check_beyond_32_bits(const Subject& subject) {
  const Function& function = subject.functions->int32;
  for (const Arrangement& arrangement : verdict::contract::far_apart(function)) {
    subject.check({.dtype = Dtype::fp16, .arrangement = arrangement});
  }
  check_far_rows(
      function, "tokens",
      {{"q_heads", 32}, {"k_heads", 1}, {"head_dim", 16}, {"rotary_dim", 16}, {"table_rows", 300}},
      subject.outputs);
  check_far_positions(subject);
}

// ---- Sizes and numbers ----

void check_sizes(const Subject& subject) {
  subject.check({.tokens = 1, .head_dim = 4});
  expect_nothing_done(subject.functions->int32);
  subject.check({.tokens = 129, .head_dim = 4});
  // 1,025 pairs: one more than whole blocks, of any usual number of threads, have.
  subject.check({.tokens = 1, .q_heads = 4, .k_heads = 1, .head_dim = 410});
  check_long_walks(subject.functions->int32, [&](const Case& call) { subject.expect(call); });
  sweep_large_sizes(subject.functions->int32,
                    {{"tokens", "table_rows"},
                     {"q_heads"},
                     {"k_heads"},
                     {"head_dim"},
                     {"rotary_dim", "head_dim"}},
                    [&](const Case& call) { subject.expect(call); });
}

void check_again(const Subject& subject) {
  for (int repeat = 0; repeat < 4; ++repeat) {
    subject.check({.dtype = Dtype::fp32});
    subject.check({.dtype = Dtype::bf16, .tokens = 2 + repeat});
  }
  check_side_by_side([&](std::int64_t tokens) {
    subject.check({.dtype = Dtype::fp32, .tokens = tokens, .q_heads = 6, .head_dim = 40});
  });
  check_every_size(subject.functions->int32, [&](const Case& call) { subject.expect(call); });
}

void check_drawn_shapes(const Subject& subject) {
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
    for (const Arrangement& arrangement : drawn_arrangements(subject.functions->int32, number)) {
      shape.arrangement = arrangement;
      subject.check(shape);
    }
  }
  for (double size : {1e-6, 1e4}) {
    for (Dtype dtype : kEveryDtype) {
      subject.check({.dtype = dtype, .deviation = size});
    }
  }
  check_small_and_ends(subject.functions->int32, [&](const Case& call) { subject.expect(call); });
  const auto expect = [&](const Case& call, const Outputs& outputs) {
    session().expect(call, outputs, subject.mistakes());
  };
  // The last element of a head is none of those that are turned.
  check_not_finite(subject.call_of({.dtype = Dtype::fp16, .rotary_dim = 12}), subject.outputs,
                   expect);
  const auto with_heads_of = [&](std::int64_t head_dim) {
    const std::int64_t even = head_dim + head_dim % 2;
    return subject.call_of({.dtype = Dtype::fp16, .head_dim = even, .rotary_dim = even});
  };
  check_each_kernel_not_finite(subject.functions->int32, "head_dim", with_heads_of, subject.outputs,
                               expect);
}

}  // namespace onepass::rope
