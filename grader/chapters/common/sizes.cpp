#include "chapters/common/sizes.h"

#include <algorithm>

namespace onepass::common {

namespace contract = verdict::contract;

contract::Sizes with_large(const Function& function, const std::string& large, std::int64_t number,
                           std::int64_t others, std::int64_t wide) {
  contract::Sizes sizes;
  for (const contract::Size& size : function.sizes) {
    const bool is_all = size.name == large || size.part_of == large;
    sizes[size.name] = size.nearest(is_all ? number : size.is_width ? wide : others);
  }
  return sizes;
}

std::vector<contract::Size> sizes_to_try(const Function& function) {
  std::vector<contract::Size> sizes;
  for (const contract::Size& size : function.sizes) {
    if (size.is_argument && size.part_of.empty()) {
      sizes.push_back(size);
    }
  }
  return sizes;
}

bool is_shared(const Function& function, const contract::Size& size) {
  const std::vector<std::string> rows = function.row_sizes();
  const contract::Extent alone = size.name.c_str();
  const auto has = [&](const contract::Extent& extent) {
    return std::count(extent.factors.begin(), extent.factors.end(), size.name) > 0;
  };
  return size.is_width ||
         (std::count(rows.begin(), rows.end(), size.name) == 0 &&
          std::any_of(function.tensors.begin(), function.tensors.end(), [&](const auto& tensor) {
            const bool is_statistic = tensor.role != contract::input && tensor.is_data() &&
                                      tensor.cols == contract::Extent(1);
            return tensor.cols == alone || (is_statistic && !has(tensor.rows));
          }));
}

bool any_in_clusters(const verdict::Session::Launches& launches) {
  return std::any_of(launches.begin(), launches.end(),
                     [](const wire::Launch& launch) { return launch.in_clusters; });
}

}  // namespace onepass::common
