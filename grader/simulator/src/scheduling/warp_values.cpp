#include "scheduling/warp_values.h"

#include <algorithm>

namespace simulator {
namespace {

std::int32_t as_signed(std::uint64_t bits) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(bits));
}

std::uint32_t reduce_two(WarpOperation operation, std::uint32_t a, std::uint32_t b) {
  switch (operation) {
    case WarpOperation::add_unsigned:
    case WarpOperation::add_signed:
      return a + b;
    case WarpOperation::min_unsigned:
      return std::min(a, b);
    case WarpOperation::max_unsigned:
      return std::max(a, b);
    case WarpOperation::min_signed:
      return as_signed(a) < as_signed(b) ? a : b;
    case WarpOperation::max_signed:
      return as_signed(a) > as_signed(b) ? a : b;
    case WarpOperation::bit_and:
      return a & b;
    case WarpOperation::bit_or:
      return a | b;
    default:
      return a ^ b;  // bit_xor
  }
}

std::uint32_t reduce(WarpOperation operation, const Warp& warp, unsigned group) {
  unsigned left = group;
  auto result = static_cast<std::uint32_t>(warp.request[__builtin_ctz(left)].value);
  for (left &= left - 1; left != 0; left &= left - 1) {
    result = reduce_two(operation, result,
                        static_cast<std::uint32_t>(warp.request[__builtin_ctz(left)].value));
  }
  return result;
}

/// The lanes of `group` whose value is `value`.
unsigned lanes_with(const Warp& warp, unsigned group, std::uint64_t value) {
  unsigned found = 0;
  for (unsigned left = group; left != 0; left &= left - 1) {
    const int lane = __builtin_ctz(left);
    if (warp.request[lane].value == value) found |= 1u << lane;
  }
  return found;
}

std::uint64_t answer(WarpOperation operation, const Warp& warp, unsigned group, int lane) {
  const unsigned is_true = group & ~lanes_with(warp, group, 0);
  const unsigned equal = lanes_with(warp, group, warp.request[lane].value);
  switch (operation) {
    case WarpOperation::ballot:
      return is_true;
    case WarpOperation::any:
      return is_true != 0;
    case WarpOperation::all:
      return is_true == group;
    case WarpOperation::elect:
      return static_cast<std::uint64_t>(__builtin_ctz(group));
    case WarpOperation::match_any:
      return equal;
    case WarpOperation::match_all:
      return equal == group ? group : 0;
    default:
      return reduce(operation, warp, group);
  }
}

}  // namespace

int shuffle_source(const WarpRequest& request, int lane) {
  const int width = request.width;
  const int segment = lane & ~(width - 1);  // its first lane
  int source = lane;
  switch (request.operation) {
    case WarpOperation::shuffle:
      return segment + (request.argument & (width - 1));
    case WarpOperation::shuffle_up:
      source = lane - request.argument;
      break;
    case WarpOperation::shuffle_down:
      source = lane + request.argument;
      break;
    default:
      source = lane ^ request.argument;
      break;  // shuffle_xor
  }
  if (request.operation == WarpOperation::shuffle_xor) {
    // CUDA lets a lane read an earlier segment, but not a later one.
    return source < segment + width && source >= 0 ? source : lane;
  }
  return source >= segment && source < segment + width ? source : lane;
}

void combine(WarpOperation operation, Warp& warp, unsigned group) {
  for (unsigned left = group; left != 0; left &= left - 1) {
    const int lane = __builtin_ctz(left);
    warp.answer[lane] = answer(operation, warp, group, lane);
  }
}

}  // namespace simulator
