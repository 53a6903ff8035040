// Two calls whose work may run at the same time.
#include <utility>

#include "verdict/session/explain_finding.h"
#include "verdict/session/session.h"
#include "verdict/worker/worker_client.h"

namespace onepass::verdict {
namespace {

/// To who is right in two calls one after the other, and not at the same time.
constexpr const char* kSharedAdvice =
    "The same call is right alone, and wrong while another one runs on another stream: the two "
    "share memory. Look at static and __device__ variables, and at memory that is allocated once "
    "and kept; each call has buffers of its own.";

}  // namespace

Session::SideBySide::SideBySide(Session& session) : session_(session) {
  session_.side_by_side_ = true;
}

Session::SideBySide::~SideBySide() {
  session_.side_by_side_ = false;
  session_.last_.reset();
}

/// On a GPU it is chance whether the work meets.
void Session::expect_side_by_side(const Case& call, const Case& beside, const Outputs& outputs) {
  const int times = settings_.device == "cpu" ? 1 : 5;
  check_.find_causes = false;
  for (int time = 0; time < times; ++time) {
    try {
      Run run = attempt(call, next_turn(), false, &beside);
      judge(call, run, kNobodyAsked);
      compare(call, run.answer, outputs);
      std::swap(run.answer, run.beside);
      judge(beside, run, kNobodyAsked);
      compare(beside, run.answer, outputs);
    } catch (const CheckFailed&) {
      if (is_out_of_time()) {
        throw;
      }
      fail(check_.failure->call == call.describe() ? call : beside,
           with_reason(*check_.failure, "state-kept", kSharedAdvice));
    }
  }
  check_.find_causes = true;
}

}  // namespace onepass::verdict
