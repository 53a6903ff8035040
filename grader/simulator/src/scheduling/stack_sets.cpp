#include "scheduling/stack_sets.h"

#include <cstring>
#include <utility>

namespace simulator {
namespace {

void copy_aside(Block& block) {
  for (const Thread& thread : block.threads) {
    const std::uintptr_t used = thread.fiber.stopped_at();
    const auto* begin = reinterpret_cast<const std::byte*>(used);
    block.parked_stacks.insert(block.parked_stacks.end(), begin, begin + (thread.stack.top - used));
  }
}

void copy_back(Block& block) {
  const std::byte* from = block.parked_stacks.data();
  for (const Thread& thread : block.threads) {
    const std::uintptr_t used = thread.fiber.stopped_at();
    std::memcpy(reinterpret_cast<void*>(used), from, thread.stack.top - used);
    from += thread.stack.top - used;
  }
  block.parked_stacks.clear();
}

}  // namespace

void StackSets::give_to(Block& block) {
  Block* const before = std::exchange(owners_[set_of(block)], &block);
  if (before == &block) return;
  if (before != nullptr) copy_aside(*before);
  if (!block.parked_stacks.empty()) copy_back(block);
}

}  // namespace simulator
