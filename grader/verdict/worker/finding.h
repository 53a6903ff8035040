// What the simulator saw, as it comes from the worker, and what it means for the student.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace onepass::verdict {

/// One of the threads that took part.
struct Party {
  std::string action;  // "reads", "writes", "waits at __syncthreads()"
  std::string file;
  int line = 0;
  std::array<int, 3> thread{};
  std::array<int, 3> block{};
  int warp = 0;
  int lane = 0;

  /// "forward.cu:41", the path as the simulator gives it; nothing without a line.
  std::optional<std::string> location() const;

  /// "forward.cu:41: thread 32 (warp 1, lane 0) of block 0 writes 4 bytes", the file without its
  /// folder.
  std::string text() const;
};

struct Finding {
  std::string kind;  // "barrier-divergence", "out-of-bounds-global", ...
  std::string kernel;
  std::string message;
  bool warning = false;
  std::vector<Party> parties;
  std::string buffer;                 // the one that was accessed, if it is one of the case's
  std::optional<std::int64_t> index;  // of the element; none for one before the buffer's first

  std::optional<std::string> location() const;  // of the first party that has one

  /// Did the simulator stop a launch that would never have come to an end?
  bool is_endless() const;

  /// The id of the mistake behind it, or nothing where the kind does not tell.
  std::optional<std::string> mistake() const;

  /// What to do about it; empty where the kind is not known.
  std::string advice() const;

  /// The simulator's message, then who took part, a line each. No such lines for host code, and
  /// none in a warning, which is told once however many threads it concerns.
  std::string account() const;

  /// The account and the advice.
  std::string sentence() const;
};

/// Throws nlohmann::json::exception for what is not a finding.
Finding finding_from(const nlohmann::json& json);

}  // namespace onepass::verdict
