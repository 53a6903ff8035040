#include "verdict/contract/function.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <stdexcept>

namespace onepass::verdict::contract {

Extent::Extent(int one) {
  if (one != 1) {
    throw std::logic_error("an extent is 1 or has a name");
  }
}

Extent::Extent(const char* text) {
  std::istringstream words(text);
  char sign = '*';
  for (std::string word; words >> word; words >> sign) {
    if (sign == '/') {
      divisor = std::stoll(word);
    } else {
      factors.push_back(word);
    }
  }
}

std::int64_t Extent::in(const Sizes& sizes) const {
  std::int64_t product = 1;
  for (const std::string& factor : factors) {
    const auto found = sizes.find(factor);
    if (found == sizes.end()) {
      throw std::logic_error("nothing tells the size " + factor);
    }
    product *= found->second;
  }
  return product / divisor;
}

void Extent::tell(std::int64_t extent, Sizes& sizes) const {
  std::vector<std::string> unknown;
  std::int64_t known = 1;
  for (const std::string& factor : factors) {
    const auto found = sizes.find(factor);
    if (found == sizes.end()) {
      unknown.push_back(factor);
    } else {
      known *= found->second;
    }
  }
  if (unknown.size() == 1 && known > 0) {
    sizes[unknown.front()] = extent * divisor / known;
  }
}

std::string Extent::text() const {
  const std::string product = fmt::format("{}", fmt::join(factors, " * "));
  return divisor == 1 ? product : fmt::format("{} / {}", product, divisor);
}

const Tensor* Function::find(const std::string& wanted) const {
  const auto found = std::find_if(tensors.begin(), tensors.end(),
                                  [&](const Tensor& tensor) { return tensor.name == wanted; });
  return found == tensors.end() ? nullptr : &*found;
}

const Size& Function::size(const std::string& wanted) const {
  const auto found = std::find_if(sizes.begin(), sizes.end(),
                                  [&](const Size& size) { return size.name == wanted; });
  return found == sizes.end() ? throw std::out_of_range("no size " + wanted) : *found;
}

namespace {

std::vector<std::string> sizes_that_are(const Function& function, Extent Tensor::*extent,
                                        bool of_widths) {
  std::vector<std::string> names;
  for (const Size& size : function.sizes) {
    const Extent alone = size.name.c_str();
    const bool wanted = size.is_argument && (!of_widths || size.is_width);
    if (wanted && std::any_of(function.tensors.begin(), function.tensors.end(),
                              [&](const Tensor& tensor) { return tensor.*extent == alone; })) {
      names.push_back(size.name);
    }
  }
  return names;
}

}  // namespace

std::vector<std::string> Function::row_sizes() const {
  return sizes_that_are(*this, &Tensor::rows, false);
}

std::vector<std::string> Function::col_sizes() const {
  return sizes_that_are(*this, &Tensor::cols, true);
}

Sizes all_sizes(const Function& function, Sizes sizes,
                const std::function<std::optional<Extents>(const Tensor&)>& extents) {
  for (int pass = 0; pass < 2; ++pass) {  // a product may need a size that a later tensor tells
    for (const Tensor& tensor : function.tensors) {
      if (const std::optional<Extents> extent = extents(tensor)) {
        tensor.rows.tell(extent->first, sizes);
        tensor.cols.tell(extent->second, sizes);
      }
    }
  }
  return sizes;
}

}  // namespace onepass::verdict::contract
