// What the host code around a launch does. A function that is given a stream promises to put its
// work on that one and to return without waiting; the default stream or a wait would be right here,
// where everything happens at once, and wrong on a GPU.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "events/events.h"
#include "findings/findings.h"

namespace simulator {

class HostCalls {
 public:
  /// nullptr: nothing is expected. Who was watched has returned, and tells what it has kept.
  void expect(const void* stream, Findings& findings);

  bool are_watched() const { return stream_ != nullptr; }

  /// Does what a GPU may do as late as this: when the host code that is watched has returned, or
  /// waits. At once if none is.
  void do_late(std::function<void()> work);

  /// `call`, at this place in the host code, puts work on a stream; or waits for the device.
  void note_work(const void* stream, const std::string& call, CodeAddress site,
                 Findings& findings) const;
  void note_wait(const std::string& call, CodeAddress site, Findings& findings) const;
  /// Memory of the device, or page-locked memory of the host.
  void note_taken(const void* memory, std::size_t bytes, const char* call, CodeAddress site);
  void note_given_back(const void* memory) { taken_.erase(memory); }
  /// The host has waited for all that it has put on streams.
  void finish();

 private:
  struct Taken {
    std::size_t bytes;
    const char* call;
    CodeAddress site;
  };

  const void* stream_ = nullptr;
  std::map<const void*, Taken> taken_;  // by who is watched, and not given back
  std::vector<std::function<void()>> late_;
};

}  // namespace simulator
