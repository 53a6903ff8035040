// The sweeps over rows that are too wide for one pack a thread, for the registers, or for a block.
#include <fmt/format.h>

#include "chapters/common/sweeps.h"

namespace onepass::common {

namespace contract = verdict::contract;
using verdict::session;

namespace {

constexpr std::int64_t kWideFarApart = 33024;  // whole vectors of 16 bits, too wide for any block

// Where one pack a thread no longer holds a row, where its registers may not, and where a block's
// surely do not.
constexpr std::int64_t kWide[] = {2064, 8200, 17000};
// Rows of which two copies in fp32, or one, are more than the 48 KiB of shared memory that need not
// be asked for. They grow, for that which is asked for once must be enough for all.
constexpr std::int64_t kBeyondSharedLimit[] = {6152, 12800, 20000};
// Of 16 bits one copy in fp32, or as it is. It is asked for by each kernel for itself: those of
// each type, with vectors and without.
constexpr std::int64_t kBeyondSharedLimit16[] = {13008, 26000};

// Bytes of shared memory at which kernels find their room wrong: what a block has without asking,
// 48 KiB, of which its static arrays take a part; and between what a block may have of it, 227 KiB,
// and what a multiprocessor has, 228 KiB, with half a KiB left for sums. A column takes two, three
// or four floats, one, or an element of 16 bits with a float or without.
constexpr std::int64_t kSharedEnds[] = {49'152, 232'960};
constexpr std::int64_t kBytesOfColumn[] = {4, 8, 12, 16}, kBytesOfColumn16[] = {2, 6};

}  // namespace

void sweep_wide_far_apart(const Function& function, const CheckRows& check,
                          const std::set<std::string>& only) {
  const verdict::Session::Sampling sampled(session(), verdict::Session::Sample::of_wide);
  const bool on_cpu = session().device() == "cpu";
  for (const Arrangement& each : contract::beyond_vectors(function, on_cpu, only)) {
    check(Dtype::fp16, 2, kWideFarApart, each);
  }
  for (const Arrangement& odd : contract::beyond_ints(function, on_cpu, only)) {
    check(Dtype::fp16, 2, kWideFarApart + 1, odd);
  }
}

void check_widest(const Function& function, const CheckRows& check,
                  const std::vector<Dtype>& dtypes, std::int64_t rows) {
  for (const std::int64_t cols : contract::widest(function, "cols")) {
    for (Dtype dtype : dtypes) {
      check(dtype, rows, cols, {});
      check(dtype, rows, cols - 1, {});  // odd
    }
  }
}

namespace {

/// A row whose columns take as much shared memory as one of kSharedEnds, as far as whole vectors
/// do.
void sweep_shared_ends(const Function& function, const CheckRows& check) {
  const Dtype half = kSixteenBit[session().random().bits(2) % kSixteenBit.size()];
  for (const contract::Size& size : function.sizes) {
    const auto check_width = [&](Dtype dtype, std::int64_t end, std::int64_t bytes) {
      const std::int64_t cols = end / bytes / 16 * 16;
      if (size.name == "cols" && cols <= size.most) {
        check(dtype, 1, cols, {});
      }
    };
    for (const std::int64_t end : kSharedEnds) {
      for (const std::int64_t bytes : kBytesOfColumn) {
        check_width(Dtype::fp32, end, bytes);
      }
      for (const std::int64_t bytes : kBytesOfColumn16) {
        check_width(half, end, bytes);
      }
    }
  }
}

}  // namespace

void sweep_ends(const Function& function, const CheckRows& check) {
  std::uint64_t number = session().random().bits(0);
  for (const contract::Size& size : function.sizes) {
    if (size.name == "cols") {
      for (const std::int64_t cols : contract::widths_past_ends(size.most, session().random())) {
        check(kEveryDtype[number++ % kEveryDtype.size()], 1, cols, {});
      }
    }
  }
  sweep_shared_ends(function, check);
}

void sweep_wide_ways(const Function& function, const CheckRows& check) {
  std::uint64_t number = session().random().bits(1);
  for (const std::int64_t cols : kWide) {
    const verdict::Random draw = session().random().stream(fmt::format("wide {}", cols));
    const Dtype dtype = kEveryDtype[number++ % kEveryDtype.size()];
    for (const contract::Way& way : contract::sweep_wide(function, dtype, draw, cols)) {
      check(dtype, way.odd_rows || way.has_gaps() ? 2 : 1, way.row(cols, cols + 1),
            way.arrangement);
    }
  }
  for (const std::int64_t cols : kBeyondSharedLimit) {
    check(Dtype::fp32, 1, cols, {});
  }
  check(Dtype::fp32, 1, kBeyondSharedLimit[1] + 1, {});
  if (const Arrangement without = contract::without_optional(function); !without.left_out.empty()) {
    check(Dtype::fp32, 1, kBeyondSharedLimit[1], without);  // may be a kernel of its own
  }
  for (const std::int64_t cols : kBeyondSharedLimit16) {
    const auto odd = static_cast<std::int64_t>(number++ % 2);
    check(Dtype::fp16, 1, cols + odd, {});
    check(Dtype::bf16, 1, cols + 1 - odd, {});
  }
}

void check_wide_rows(const Function& function, const CheckRows& check) {
  check(Dtype::bf16, 2, 4096, {});
  check(Dtype::fp32, 1, 4101, {});  // odd
  check(Dtype::bf16, 2, 8192, {});
  check(Dtype::fp16, 1, 16384, {});
  check_widest(function, check);
}

}  // namespace onepass::common
