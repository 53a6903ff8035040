#include "chapters/common/sizes.h"

#include <algorithm>

#include "chapters/common/sweeps.h"

namespace onepass::common {

namespace contract = verdict::contract;
using verdict::session;

namespace {

constexpr std::int64_t kLimited = std::int64_t{1} << 18;  // what has an end before that, has one
constexpr std::int64_t kVector = 8;                       // fills vectors of every type
constexpr std::int64_t kTwoRows = 4096;                   // to which two are asked for
constexpr std::int64_t kOtherWidth = 40;

}  // namespace

contract::Sizes with_large(const Function& function, const std::string& large, std::int64_t number,
                           std::int64_t others, std::int64_t wide) {
  contract::Sizes sizes;
  for (const contract::Size& size : function.sizes) {
    const bool is_part = size.name == "rotary_dim" && large == "head_dim";
    const std::int64_t wanted = size.name == large || is_part ? number
                                : is_limited(size)            ? wide
                                                              : others;
    const std::int64_t even = size.least == 2 ? wanted + wanted % 2 : wanted;
    sizes[size.name] = std::clamp(even, size.least, size.most);
  }
  return sizes;
}

std::vector<contract::Size> sizes_to_try(const Function& function) {
  std::vector<contract::Size> sizes;
  for (const contract::Size& size : function.sizes) {
    if (size.is_argument && size.name != "rotary_dim") {
      sizes.push_back(size);
    }
  }
  return sizes;
}

bool is_limited(const contract::Size& size) {
  return size.most <= kLimited;
}

bool is_shared(const Function& function, const contract::Size& size) {
  const std::vector<std::string> rows = function.row_sizes();
  const contract::Extent alone = size.name.c_str();
  const auto has = [&](const contract::Extent& extent) {
    return std::count(extent.factors.begin(), extent.factors.end(), size.name) > 0;
  };
  return is_limited(size) ||
         (std::count(rows.begin(), rows.end(), size.name) == 0 &&
          std::any_of(function.tensors.begin(), function.tensors.end(), [&](const auto& tensor) {
            const bool is_statistic = tensor.role != contract::input && tensor.is_data() &&
                                      tensor.cols == contract::Extent(1);
            return tensor.cols == alone || (is_statistic && !has(tensor.rows));
          }));
}

std::int64_t rows_at_end(std::int64_t number) {
  return number > kTwoRows ? 1 : 2;
}

contract::Sizes sizes_of_end(const Function& function, const std::string& size,
                             std::int64_t number) {
  return with_large(function, size, number, rows_at_end(number), kOtherWidth);
}

std::vector<std::int64_t> ends_of_kernels(const Function& function, Dtype dtype,
                                          const std::string& size, bool is_odd, std::int64_t most) {
  const auto number = [&](std::int64_t step) { return is_odd ? 2 * step + 1 : kVector * step; };
  const auto kernels = [&](std::int64_t step) {
    const contract::Sizes sizes = sizes_of_end(function, size, number(step));
    return session().kernels_of(
        contract::hollow(function, dtype, sizes, session().random().bits(9)));
  };
  std::vector<std::int64_t> ends;
  std::int64_t first = is_odd ? 0 : 1;
  while (session().device() == "cpu" && number(2 * first + 1) <= most) {
    const std::int64_t last = 2 * first + 1;
    const auto of_first = kernels(first), of_last = kernels(last);
    if (of_last.empty()) {
      break;  // it takes long, and the next ones longer
    }
    std::int64_t before = first, after = last;
    while (of_first != of_last && after - before > 1) {
      const std::int64_t middle = before + (after - before) / 2;
      (kernels(middle) == of_first ? before : after) = middle;
    }
    if (of_first != of_last) {
      ends.insert(ends.end(), {number(before), number(after)});
    }
    first = last;
  }
  return ends;
}

}  // namespace onepass::common
