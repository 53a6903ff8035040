// The sweeps over more rows than blocks have at a time, so that each goes on to a next one, and to
// a next, until the places of a ring are used again.
#include "chapters/common/sizes.h"
#include "chapters/common/sweeps.h"

namespace onepass::common {

namespace contract = verdict::contract;
using verdict::session;

namespace {

/// Four times as many rows as the device's multiprocessors have at 16 warps each, a row a warp, and
/// five.
void check_ring(const CheckRows& check) {
  const std::int64_t rows = std::int64_t{4} * session().multiprocessors() * 16 + 5;
  check(Dtype::fp32, rows, 8, {});
  check(Dtype::bf16, rows, 17, {});
}

}  // namespace

void check_long_walks_in_sample(const CheckRows& check) {
  const verdict::Session::Sampling sampled(session(), verdict::Session::Sample::of_many);
  // A few elements of rows that lie apart, none of them aligned.
  check(Dtype::fp32, 3001, 3, {{"dy", {2}}, {"x", {4}}, {"dx", {1}}});
  check_ring(check);
}

void check_long_walks(const CheckRows& check, const CheckRows& check_sums) {
  const verdict::Session::FewMultiprocessors few(session());
  check_ring(check);
  const std::int64_t blocks = session().multiprocessors();
  // One more than the lanes of a warp can have loaded at once, each a number of another row.
  check(Dtype::fp32, 33 * 16 * blocks + 5, 3, {});
  check(Dtype::fp16, 8 * blocks + 4, 520, {});
  check(Dtype::bf16, 8 * blocks + 4, 521, {});
  check_sums(Dtype::fp16, blocks + 3, 4104, {});
}

void check_long_walks_of_wide(const Function& function, const CheckRows& check) {
  const verdict::Session::FewMultiprocessors few(session());
  const Dtype half = kSixteenBit[session().random().bits(0) % kSixteenBit.size()];
  const std::int64_t blocks = session().multiprocessors();
  check(half, blocks + 3, 8193, {});
  check(half, blocks + 3, 8200, {});
  // Of clusters there are fewer than that, unless a multiprocessor has several blocks.
  const std::int64_t rows = 2 * blocks + 3;
  for (const Dtype dtype : {Dtype::fp32, half}) {
    for (const std::int64_t cols : {8200, 16392, 32776}) {
      const Case asked = contract::hollow(function, dtype, {{"rows", rows}, {"cols", cols}}, 0);
      if (any_in_clusters(session().launches_of(asked))) {
        check(dtype, rows, cols, {});
        return;
      }
    }
  }
}

}  // namespace onepass::common
