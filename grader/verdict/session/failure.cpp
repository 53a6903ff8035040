#include "verdict/session/failure.h"

namespace onepass::verdict {

std::string name(Status status) {
  switch (status) {
    case Status::passed:
      return "passed";
    case Status::failed:
      return "failed";
    case Status::not_started:
      return "not started";
    case Status::compile_error:
      return "compile error";
    case Status::launch_error:
      return "launch error";
    case Status::device_error:
      return "device error";
    case Status::crashed:
      return "crashed";
    case Status::timed_out:
      return "timed out";
    case Status::ended_early:
      return "ended early";
    case Status::ungraded:
      return "ungraded";
  }
  return "ungraded";
}

}  // namespace onepass::verdict
