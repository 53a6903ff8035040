#include "scheduling/host_calls.h"

#include <utility>

#include "findings/texts.h"
#include "host_call_findings.h"

namespace simulator {

void HostCalls::expect(const void* stream, Findings& findings) {
  finish();
  stream_ = stream;
  for (const auto& [memory, taken] : std::exchange(taken_, {})) {
    findings.add(
        with_party(memory_kept(taken.call, taken.bytes), host_party(taken.site, "takes memory")));
  }
}

void HostCalls::note_taken(const void* memory, std::size_t bytes, const char* call,
                           CodeAddress site) {
  if (are_watched() && memory != nullptr) taken_[memory] = {bytes, call, site};
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
  findings.add(with_party(work_on_other_stream(call, stream == nullptr),
                          host_party(site, "puts work on a stream")));
}

void HostCalls::note_wait(const std::string& call, CodeAddress site, Findings& findings) const {
  if (stream_ == nullptr) return;
  findings.add(with_party(host_waiting(call), host_party(site, "waits for the device")));
}

}  // namespace simulator
