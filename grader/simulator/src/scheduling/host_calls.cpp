#include "scheduling/host_calls.h"

#include <utility>

#include "findings/texts.h"

namespace simulator {

void HostCalls::expect(const void* stream) {
  finish();
  stream_ = stream;
}

void HostCalls::do_late(std::function<void()> work) {
  late_.push_back(std::move(work));
  if (!are_watched()) finish();
}

void HostCalls::finish() {
  for (const auto& work : std::exchange(late_, {})) work();
}

void HostCalls::note_work(const void* stream, const std::string& call, CodeAddress site,
                          Findings& findings) const {
  if (stream_ == nullptr || stream == stream_) return;
  findings.add(Kind::other_stream, "",
               call + " is put on " +
                   (stream == nullptr ? "the default stream" : "another stream") +
                   ", not on the one that the function is given: what the caller has put there "
                   "before need not be done yet, and the caller does not wait for this.",
               {host_party(site, "puts work on a stream")});
}

void HostCalls::note_wait(const std::string& call, CodeAddress site, Findings& findings) const {
  if (stream_ == nullptr) return;
  findings.add(Kind::host_waits, "",
               call +
                   " makes the host wait for the device: a launcher starts its kernels and "
                   "returns.",
               {host_party(site, "waits for the device")});
}

}  // namespace simulator
