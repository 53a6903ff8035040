// Does the device still work, and does it have room?
#include <fmt/format.h>

#include "verdict/session/session.h"
#include "verdict/worker/worker_client.h"

namespace onepass::verdict {
namespace {

constexpr std::int64_t kAnyGpuHas = std::int64_t{1} << 30;  // bytes

}  // namespace

/// The worker says that it cannot do what it was asked, and a fresh one with the same code says so
/// too: what else is on the device may have gone meanwhile. If a trusted one can do it, it is what
/// the code did that keeps it from it. The simulator always can: its memory is only reserved, and
/// that there is room for that was seen before it was started.
void Session::settle_refusal(const std::function<Run(WorkerClient&)>& ask, Run& run) const {
  const auto is_refused = [&run] {
    return run.outcome == Outcome::refused || run.outcome == Outcome::out_of_memory;
  };
  const auto ask_fresh = [&](const std::string& program) {
    WorkerClient worker(program, settings_.device);
    return ask(worker);
  };
  if (is_refused() && settings_.device != "cpu") {
    run = ask_fresh(settings_.worker);
  }
  if (!is_refused()) {
    return;
  }
  const bool possible = settings_.reference.empty()
                            ? settings_.device == "cpu"
                            : ask_fresh(settings_.reference).outcome == Outcome::ok;
  if (possible) {
    run.outcome = Outcome::ended_early;
    run.error = fmt::format(
        "The call was refused ({}), though other code can do it. Memory that is allocated has to "
        "be freed again.",
        run.error);
  }
}

/// After a failure on a GPU: does the device still serve a worker that can be trusted?
bool Session::machine_is_sound() const {
  if (settings_.device != "gpu" || settings_.reference.empty()) {
    return true;
  }
  WorkerClient probe(settings_.reference, settings_.device);
  return probe.hello().outcome == Outcome::ok;
}

/// Does the device have room for the case? The simulator always has. A trusted worker is asked: the
/// student's could say no, and so be spared the case.
bool Session::fits(const Case& call) {
  if (settings_.device != "gpu" || settings_.reference.empty() || call.span_bytes() < kAnyGpuHas) {
    return true;
  }
  if (!memory_bytes_) {
    WorkerClient trusted(settings_.reference, settings_.device);
    const bool known = trusted.hello().outcome == Outcome::ok;
    memory_bytes_ = known ? static_cast<double>(trusted.device().memory_bytes) : 0.0;
  }
  return *memory_bytes_ <= 0.0 ||
         static_cast<double>(call.span_bytes()) <= kUsableMemory * *memory_bytes_;
}

}  // namespace onepass::verdict
