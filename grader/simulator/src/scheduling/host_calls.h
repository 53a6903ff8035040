// What the host code around a launch does. A function that is given a stream promises to put its
// work on that one and to return without waiting; the default stream or a wait would be right here,
// where everything happens at once, and wrong on a GPU.
#pragma once

#include <string>

#include "events/events.h"
#include "findings/findings.h"

namespace simulator {

class HostCalls {
 public:
  /// nullptr: nothing is expected.
  void expect(const void* stream) { stream_ = stream; }

  bool are_watched() const { return stream_ != nullptr; }

  /// `call`, at this place in the host code, puts work on a stream; or waits for the device.
  void note_work(const void* stream, const std::string& call, CodeAddress site,
                 Findings& findings) const;
  void note_wait(const std::string& call, CodeAddress site, Findings& findings) const;

 private:
  const void* stream_ = nullptr;
};

}  // namespace simulator
