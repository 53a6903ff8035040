// The error state of the CUDA runtime. An ordinary error (a bad argument) is told once by
// cudaGetLastError() and forgotten. An error inside a kernel is sticky: the device is unusable from
// then on, and every later call tells it again.
#pragma once

#include "common/error_codes.h"

namespace simulator {

class Errors {
 public:
  int sticky() const { return sticky_; }
  void set_sticky(int error) { sticky_ = error; }

  /// What an API function returns when it has come to `error`: notes it, unless a sticky one rules.
  int note(int error) {
    if (sticky_ != kSuccess) return sticky_;
    if (error != kSuccess) last_ = error;
    return error;
  }
  int peek() const { return sticky_ != kSuccess ? sticky_ : last_; }
  int take() {
    const int error = peek();
    last_ = kSuccess;
    return error;
  }
  void clear() { sticky_ = last_ = kSuccess; }

 private:
  int sticky_ = kSuccess;
  int last_ = kSuccess;
};

}  // namespace simulator
