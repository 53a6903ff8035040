// Calls on a device of few multiprocessors.
#include "verdict/session/session.h"
#include "verdict/worker/worker_client.h"

namespace onepass::verdict {
namespace {

// A cluster of eight blocks has room, each of which may have a multiprocessor of its own; and it is
// no divisor or multiple of what grids are made of.
constexpr int kFewMultiprocessors = 10;

}  // namespace

Session::FewMultiprocessors::FewMultiprocessors(Session& session) : session_(session) {
  session_.multiprocessors_ = session_.device() == "cpu" ? kFewMultiprocessors : 0;
  session_.worker_->set_multiprocessors(session_.multiprocessors_);
}

Session::FewMultiprocessors::~FewMultiprocessors() {
  session_.multiprocessors_ = 0;
  session_.worker_->set_multiprocessors(0);
}

int Session::multiprocessors() {
  if (multiprocessors_ > 0) {
    return multiprocessors_;
  }
  worker_->hello();
  return worker_->device().multiprocessors;
}

}  // namespace onepass::verdict
