#include "verdict/contract/function.h"

#include <sstream>
#include <stdexcept>
#include <utility>

namespace onepass::verdict::contract {

Extent::Extent(int number) {
  if (number != 1) {
    throw std::logic_error("an extent is 1 or has a name");
  }
}

Extent::Extent(const char* text) {
  std::istringstream words(text);
  std::string word;
  char sign = '*';
  while (words >> word) {
    if (sign == '/') {
      divisor = std::stoll(word);
    } else {
      factors.push_back(word);
    }
    words >> sign;
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
  const std::string* unknown = nullptr;
  std::int64_t known = 1;
  for (const std::string& factor : factors) {
    const auto found = sizes.find(factor);
    if (found != sizes.end()) {
      known *= found->second;
    } else if (unknown == nullptr) {
      unknown = &factor;
    } else {
      return;
    }
  }
  if (unknown != nullptr && known != 0) {
    sizes[*unknown] = extent * divisor / known;
  }
}

Tensor Tensor::of(Dtype type) && {
  dtype = type;
  return std::move(*this);
}

Tensor Tensor::strided() && {
  is_strided = true;
  return std::move(*this);
}

Tensor Tensor::optional() && {
  is_optional = true;
  return std::move(*this);
}

Tensor Tensor::over(const char* input) && {
  may_be_over = input;
  return std::move(*this);
}

Tensor Tensor::filled(double mean, double scale) && {
  fill.mean = mean;
  fill.scale = scale;
  return std::move(*this);
}

namespace {

Tensor tensor(const char* name, Role role, Extent rows, Extent cols) {
  Tensor result;
  result.name = name;
  result.role = role;
  result.rows = std::move(rows);
  result.cols = std::move(cols);
  return result;
}

}  // namespace

Tensor input(const char* name, Extent rows, Extent cols) {
  return tensor(name, Role::input, std::move(rows), std::move(cols));
}

Tensor output(const char* name, Extent rows, Extent cols) {
  return tensor(name, Role::output, std::move(rows), std::move(cols));
}

Tensor in_place(const char* name, Extent rows, Extent cols) {
  return tensor(name, Role::in_place, std::move(rows), std::move(cols));
}

Tensor scratch(const char* name, std::int64_t (*size)(const Sizes&)) {
  Tensor result = output(name, 1, 1).of(Dtype::fp32);
  result.scratch = size;
  return result;
}

Tensor returned() {
  Tensor result = output("returned", 1, 1).of(Dtype::int32);
  result.scratch = [](const Sizes&) { return std::int64_t{1}; };
  return result;
}

}  // namespace onepass::verdict::contract
