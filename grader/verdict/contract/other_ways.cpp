// The other ways to make a call.
#include <optional>
#include <utility>

#include "verdict/contract/taken.h"

namespace onepass::verdict::contract {

std::vector<Case> other_ways(const Case& call, bool off) {
  std::vector<Case> ways;
  if (auto other = with_other_choice(call)) {
    ways.push_back(std::move(*other));
  }
  const std::optional<Taken> taken = taken_with_values(call);
  if (!taken) {
    return ways;
  }
  for (const Tensor& tensor : call.contract()->tensors) {
    if (!tensor.is_data() || call.find(tensor.name) == nullptr) {
      continue;
    }
    if (tensor.traits.optional) {
      Taken without = *taken;
      without.arguments.values.erase(tensor.name);
      without.arrangement.places.erase(tensor.name);
      without.arrangement.left_out.insert(tensor.name);
      ways.push_back(made_of(call, std::move(without)));
    }
    if (off) {
      Taken moved = *taken;
      ++moved.arrangement.places[tensor.name].offset;
      ways.push_back(made_of(call, std::move(moved)));
    }
  }
  return ways;
}

}  // namespace onepass::verdict::contract
