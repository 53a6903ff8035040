// The checks of exercise 3.4. Those of TODO 1 are of results, in both pairings; the others of what
// the simulator sees: how many bytes an access moves, and how often the tables are loaded. On a GPU
// the same calls are checked for their results.
#include <fmt/format.h>

#include <algorithm>

#include "chapters/common/requests.h"
#include "chapters/common/speed.h"
#include "chapters/rope/checks_q_and_k.h"
#include "chapters/rope/mistakes.h"
#include "chapters/rope/shapes.h"

namespace onepass::rope::fast_checks {
namespace {

using verdict::AccessType;

const Outputs kOutputs = outputs_of(expected, {"q", "k"});
const Subject kInterleavedPairs = {&kFastInterleaved, oracles_of<fast_mistakes>, kOutputs};
const Subject kSplitPairs = {&kFastSplit, oracles_of<fast_mistakes>, kOutputs};

/// In both pairings.
template <typename Check>
void in_both(const Check& check) {
  check(kInterleavedPairs);
  check(kSplitPairs);
}

void loaded_once(const Case& call, const verdict::Traffic& traffic) {
  require_loaded_once(call, traffic, "q");
  require_loaded_once(call, traffic, "k");
}

void check_loaded_once(const Subject& subject, const Shape& shape) {
  count<fast_mistakes>(subject.call_of(shape), kOutputs, loaded_once);
}

void check_packs(const Subject& subject, const Shape& shape) {
  count<fast_mistakes>(subject.call_of(shape), kOutputs,
                       [](const Case& call, const verdict::Traffic& traffic) {
                         for (const char* tensor : {"q", "k"}) {
                           require_packs(call, traffic, tensor, AccessType::read);
                           require_packs(call, traffic, tensor, AccessType::write);
                         }
                       });
}

/// Ends the check if a token's row of a table was loaded more often than once for each kShared
/// heads. The call's tokens have rows of their own.
void require_angles_shared(const Case& call, const verdict::Traffic& traffic, const char* table) {
  constexpr std::int64_t kShared = 4;
  double bytes = 0.0;
  for (const verdict::LineTraffic& line : traffic.lines) {
    if (line.buffer == table && line.type == AccessType::read) {
      bytes += static_cast<double>(line.bytes);
    }
  }
  const verdict::Buffer& buffer = call.buffer(table);
  const double row = static_cast<double>(buffer.cols) * verdict::size_of(buffer.dtype);
  const double times = bytes / row / static_cast<double>(call.buffer("q").rows);
  const std::int64_t heads = call.integer("q_heads") + call.integer("k_heads");
  const std::int64_t most = (heads + kShared - 1) / kShared;
  if (times > static_cast<double>(most)) {
    session().fail(
        call, {.message = fmt::format(
                   "The result is right, but each token's row of {} was loaded {:.3g} times for {} "
                   "heads, and {} would do: turn four heads by the angles that a thread has "
                   "loaded.",
                   table, times, heads, most),
               .mistake = "loaded-twice",
               .is_right = true});
  }
}

void check_angles_shared(const Subject& subject, const Shape& shape) {
  count<fast_mistakes>(subject.call_of(shape), kOutputs,
                       [](const Case& call, const verdict::Traffic& traffic) {
                         require_angles_shared(call, traffic, "cos");
                         require_angles_shared(call, traffic, "sin");
                       });
}

TEST_SUITE("rope/fast") {
  // ---- TODO 1: the results ----

  CHECK_CASE("heads of 2 to 258 elements, in both pairings", points(2), todo(1)) {
    in_both(check_head_dims);
  }

  CHECK_CASE("partial rotary: elements from rotary_dim on stay as they are", points(1), todo(1)) {
    in_both(check_partial_rotary);
  }

  CHECK_CASE("fp16 and bf16: the result is rounded once, at the very end", points(1), todo(1)) {
    in_both(check_rounded_once);
  }

  CHECK_CASE("tables in the tensor's own type, positions of 32 and of 64 bits", points(1),
             todo(1)) {
    in_both([](const Subject& subject) {
      check_own_tables(subject);
      check_positions(subject);
      check_wide_positions(subject);
      check_late_positions(subject);
    });
  }

  CHECK_CASE("k, whether it has as many heads as q, fewer or more", points(1), todo(1)) {
    in_both(check_head_counts);
  }

  CHECK_CASE("token * stride is beyond 2^31: compute it in 64 bits", points(1), todo(1)) {
    in_both(check_beyond_32_bits);
  }

  CHECK_CASE("no tokens, one token, many tokens: each is turned", points(1), todo(1)) {
    in_both(check_sizes);
  }

  CHECK_CASE("each element of q and k is loaded once", points(1), todo(1)) {
    in_both([](const Subject& subject) {
      for (Dtype dtype : kEveryDtype) {
        check_loaded_once(subject, {.dtype = dtype, .q_heads = 6, .k_heads = 3, .head_dim = 64});
        check_loaded_once(subject, {.dtype = dtype, .q_heads = 5, .head_dim = 18});
        count_other_ways<fast_mistakes>(subject.call_of({.dtype = dtype, .head_dim = 64}), true,
                                        kOutputs, loaded_once);
      }
      for_ends_of_kernels(subject.functions->int32, {"head_dim", 1, 1024},
                          [&](Dtype dtype, std::int64_t, std::int64_t head_dim) {
                            check_loaded_once(
                                subject, {.dtype = dtype, .head_dim = head_dim + head_dim % 2});
                          });
      for_kernels_of_many(
          subject.functions->int32, "tokens", kNarrow, [&](Dtype dtype, std::int64_t tokens) {
            check_loaded_once(
                subject,
                {.dtype = dtype, .tokens = tokens, .q_heads = 1, .k_heads = 1, .head_dim = 16});
          });
    });
  }

  CHECK_CASE("called again, on other numbers or the same, it is right again", points(1), todo(1)) {
    in_both([](const Subject& subject) { check_again(subject); });
  }

  CHECK_CASE("shapes drawn at random, and numbers at the ends of the types, infinite and NaN",
             points(1), todo(1)) {
    in_both(check_drawn_shapes);
  }

  // ---- TODO 2: 16 bytes at a time ----

  CHECK_CASE("aligned heads: q and k are loaded and stored 16 bytes at a time", points(3),
             todo(2)) {
    in_both([](const Subject& subject) {
      for (Dtype dtype : kEveryDtype) {
        const auto vector = 16 / static_cast<std::int64_t>(verdict::size_of(dtype));
        check_packs(subject, {.dtype = dtype, .head_dim = 2 * vector});
        check_packs(subject, {.dtype = dtype, .q_heads = 5, .k_heads = 2, .head_dim = 128});
        check_packs(subject, {.dtype = dtype,
                              .head_dim = 4 * vector,
                              .arrangement = just_aligned(subject.functions->int32, dtype)});
        check_packs(subject, {.dtype = dtype,
                              .head_dim = 10 * vector,
                              .rotary_dim = 6 * vector,
                              .own_tables = true,
                              .arrangement = {{"q", {vector, 8}}, {"k", {3 * vector, 16}}}});
        // Of what is turned each half is whole vectors, and so is the rest: an odd number, or even.
        const verdict::Random draw = session().random().stream(verdict::name(dtype));
        for (const std::int64_t rest : {1, 2, 3}) {
          const std::int64_t half = draw.integer(static_cast<std::uint64_t>(rest), 1, 4);
          check_packs(subject, {.dtype = dtype,
                                .head_dim = (2 * half + rest) * vector,
                                .rotary_dim = 2 * half * vector});
        }
      }
      for_ends_of_vectors(subject.functions->int32, {"head_dim", 1, 1024},
                          [&](Dtype dtype, std::int64_t, std::int64_t head_dim) {
                            check_packs(subject, {.dtype = dtype, .head_dim = head_dim});
                          });
    });
  }

  CHECK_CASE("one tensor, a stride or a head is not aligned: still right", points(2), todo(2)) {
    in_both([](const Subject& subject) {
      check_arrangements(subject, subject.functions->int32);
      check_arrangements(subject, subject.functions->own_tables);
    });
  }

  // ---- TODO 3: the angles of several heads ----

  CHECK_CASE("a row of the tables is loaded once for four heads", points(3), todo(3)) {
    in_both([](const Subject& subject) {
      for (Dtype dtype : kEveryDtype) {
        check_angles_shared(subject, {.dtype = dtype, .q_heads = 6, .k_heads = 2, .head_dim = 64});
        check_angles_shared(subject, {.dtype = dtype, .q_heads = 7, .k_heads = 2, .head_dim = 34});
        check_angles_shared(subject, {.dtype = dtype, .q_heads = 1, .own_tables = true});
      }
      check_angles_shared(
          subject,
          {.dtype = Dtype::bf16, .tokens = 1, .q_heads = 32, .k_heads = 8, .head_dim = 128});
      // So wide that no two heads' angles are one request of a warp.
      for (std::int64_t q_heads = 1; q_heads <= 8; ++q_heads) {
        for (std::int64_t k_heads : {1, 2, 3, 7}) {
          check_angles_shared(
              subject, {.tokens = 1, .q_heads = q_heads, .k_heads = k_heads, .head_dim = 256});
        }
      }
    });
  }

  CHECK_CASE("heads that four do not divide: each is turned, and none behind the last one",
             points(2), todo(3)) {
    in_both([](const Subject& subject) {
      for (std::int64_t q_heads : {1, 2, 3, 4, 5, 8, 13}) {
        for (std::int64_t k_heads : {1, 2, 3, 4}) {
          subject.check({.dtype = Dtype::fp16, .q_heads = q_heads, .k_heads = k_heads});
          subject.check(
              {.dtype = Dtype::fp32, .q_heads = q_heads, .k_heads = k_heads, .head_dim = 6});
        }
      }
    });
  }

  // ---- Speed ----

  SPEED_CHECKS(3, kSplitPairs.check({.dtype = Dtype::bf16, .tokens = 3}))
}

}  // namespace
}  // namespace onepass::rope::fast_checks
