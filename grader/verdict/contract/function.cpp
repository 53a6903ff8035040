#include "verdict/contract/function.h"

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

const Tensor& Function::tensor(const std::string& wanted) const {
  for (const Tensor& candidate : tensors) {
    if (candidate.name == wanted) {
      return candidate;
    }
  }
  throw std::out_of_range(name + " has no tensor " + wanted);
}

}  // namespace onepass::verdict::contract
