#include "scheduling/streams.h"

#include <algorithm>

namespace simulator {

void Streams::put(const void* stream, Work work) {
  if (!holds_) {
    while (work()) continue;
    return;
  }
  auto queue = std::find_if(queues_.begin(), queues_.end(),
                            [&](const auto& other) { return other.first == stream; });
  if (queue == queues_.end()) queue = queues_.insert(queue, {stream, {}});
  queue->second.push_back(std::move(work));
}

void Streams::finish() {
  for (bool any = true; any;) {
    any = false;
    for (auto& [stream, queue] : queues_) {
      if (queue.empty()) continue;
      any = true;
      if (!queue.front()()) queue.pop_front();
    }
  }
  queues_.clear();  // a later stream may have the address of one that is gone
}

}  // namespace simulator
