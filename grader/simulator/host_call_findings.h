// What host code around a launch may do wrong, in words: the simulator and a GPU's worker say the
// same.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "simulator/observations.h"

namespace simulator {

inline Finding work_on_other_stream(const std::string& call, bool is_default_stream) {
  return {Kind::other_stream, "",
          call + " is put on " + (is_default_stream ? "the default stream" : "another stream") +
              ", not on the one that the function is given: unless events order the two, what the "
              "caller has put there before need not be done yet, and the caller does not wait for "
              "this."};
}

inline Finding host_waiting(const std::string& call) {
  return {Kind::host_waits, "",
          call + " makes the host wait for the device: a launcher starts its kernels and returns."};
}

inline Finding memory_kept(const std::string& call, std::size_t bytes) {
  return {Kind::memory_kept, "",
          call + " has taken " + std::to_string(bytes) +
              " bytes, and the launcher returns without giving them back: nothing is kept for "
              "another call."};
}

/// A copy or a fill that CUDA refuses. A warning: the caller may have asked for the error.
inline Finding refused_copy(const std::string& call, const std::string& error) {
  return {Kind::refused_copy, "", call + " returns " + error, true};
}

inline Finding with_party(Finding finding, Party party) {
  finding.parties.push_back(std::move(party));
  return finding;
}

}  // namespace simulator
