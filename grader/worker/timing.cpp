// The order of timed calls: which buffers, which contents, which samples count.
#include "worker/timing.h"

namespace onepass::worker {
namespace {

// A stopwatch asks for another try while it learns how long launching takes, and while the device
// runs slowly; this ends it.
constexpr int kMostExtraTries = 8;

}  // namespace

ArgumentTable make_arguments(Device& device, const Timing::BufferSet& buffers,
                             const std::map<std::string, double>& scalars) {
  ArgumentTable table;
  for (const auto& buffer : buffers) {
    table.buffers[buffer->spec().name] = buffer->address();
  }
  for (const auto& buffer : buffers) {
    if (!buffer->spec().over.empty()) {
      table.buffers[buffer->spec().name] = table.buffers.at(buffer->spec().over);
    }
  }
  table.scalars = scalars;
  table.stream = device.stream();
  return table;
}

Timing::Timing(Device& device, std::unique_ptr<Stopwatch> stopwatch, const Function& function,
               const wire::Call& call, std::vector<Blob> blobs)
    : device_(device),
      stopwatch_(std::move(stopwatch)),
      function_(function),
      scalars_(call.scalars),
      blobs_(std::move(blobs)) {
  for (int set = 0; set < call.sets; ++set) {
    sets_.push_back(make_buffers(device, call.buffers, blobs_));
  }
}

Sample Timing::time_next() {
  last_set_ = (last_set_ + 1) % static_cast<int>(sets_.size());
  ++generation_;
  for (const auto& buffer : last_buffers()) {
    buffer->refill(generation_);
  }
  return stopwatch_->time(function_, make_arguments(device_, last_buffers(), scalars_));
}

wire::Sampled Timing::sample(int count, int warmup) {
  wire::Sampled result;
  int extra_tries = 0;
  for (int done = 0; done < warmup + count;) {
    const Sample sample = time_next();
    if (sample.ending.outcome != Outcome::ok) {
      result.ending = sample.ending;
      break;
    }
    if (!sample.valid && extra_tries < kMostExtraTries) {
      ++extra_tries;
      continue;
    }
    if (done >= warmup) {
      result.ms.push_back(sample.ms);
    }
    ++done;
  }
  result.generation = generation_;
  return result;
}

}  // namespace onepass::worker
