// Timed calls over rotating sets of buffers.
//
// Every call gets other memory than the one before and contents that no call has seen (but for
// inputs whose values are given), and its outputs are poisoned first, so that nothing can be
// remembered or left over. The deciding process fetches some rows of the last call's buffers and
// checks them.
#pragma once

#include <memory>
#include <vector>

#include "worker/buffer.h"
#include "worker/device.h"
#include "worker/protocol.h"

namespace onepass::worker {

class Timing {
 public:
  using BufferSet = Buffers;

  /// Allocates the call's sets of buffers. Throws OutOfMemory.
  Timing(Device& device, std::unique_ptr<Stopwatch> stopwatch, const Function& function,
         const wire::Call& call, std::vector<Blob> blobs);
  Timing(const Timing&) = delete;  // its buffers are filled with its blobs
  Timing& operator=(const Timing&) = delete;

  /// Calls the function `warmup` times and then, timed, `count` times; stops at the first error.
  wire::Sampled sample(int count, int warmup);

  /// The set that the last call got.
  const BufferSet& last_buffers() const { return sets_[static_cast<size_t>(last_set_)]; }

 private:
  Sample time_next();

  Device& device_;
  std::unique_ptr<Stopwatch> stopwatch_;
  Function function_;
  std::map<std::string, double> scalars_;
  std::vector<Blob> blobs_;
  std::vector<BufferSet> sets_;
  int last_set_ = 0;
  uint64_t generation_ = 0;
};

/// The buffers and scalars of one call, by name.
ArgumentTable make_arguments(Device& device, const Timing::BufferSet& buffers,
                             const std::map<std::string, double>& scalars);

}  // namespace onepass::worker
