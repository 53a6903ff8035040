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

Session::SideBySide::SideBySide(Session& session, bool in_pairs) : session_(session) {
  session_.side_by_side_ = true;
  session_.in_pairs_ = in_pairs;
}

Session::SideBySide::~SideBySide() {
  session_.side_by_side_ = false;
  session_.last_.reset();
}

/// What is wrong if both are made together, at once.
std::optional<Failure> Session::together(const Case& call, const Case& beside, const Turn& turn,
                                         const Outputs& outputs) {
  check_.find_causes = false;
  std::optional<Failure> failure;
  try {
    Run run = attempt(call, turn, false, &beside);
    judge(call, run, kNobodyAsked);
    compare(call, run.answer, outputs);
    std::swap(run.answer, run.beside);
    judge(beside, run, kNobodyAsked);
    compare(beside, run.answer, outputs);
  } catch (const CheckFailed&) {
    if (is_out_of_time()) {
      throw;
    }
    failure = std::exchange(check_.failure, std::nullopt);
    // Who has not answered may be slow, as two are: that says nothing of what they share.
    if (failure->status == Status::timed_out && !failure->mistake) {
      failure.reset();
    }
  }
  check_.find_causes = true;
  return failure;
}

/// On a GPU it is chance whether the work meets. What was not made alone yet is, before it is said
/// that it is right alone.
void Session::expect_side_by_side(const Case& call, const Case& beside, const Outputs& outputs,
                                  const std::vector<Oracle>& oracles) {
  const int times = settings_.device == "cpu" || in_pairs_ ? 1 : 5;
  for (int time = 0; time < times; ++time) {
    const Turn turn = next_turn();
    std::optional<Failure> failure = together(call, beside, turn, outputs);
    if (failure && in_pairs_) {
      worker_->stop();
      expect_alone(call, turn, outputs, oracles);
      expect_alone(beside, turn, outputs, oracles);
      worker_->stop();
      failure = together(call, beside, turn, outputs);
    }
    if (failure) {
      fail(failure->call == call.describe() ? call : beside,
           with_reason(*failure, "state-kept", kSharedAdvice));
    }
  }
}

}  // namespace onepass::verdict
