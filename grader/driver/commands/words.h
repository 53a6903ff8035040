// What `onepass --help` calls things that several commands take.
#pragma once

#include <cstdint>
#include <limits>

namespace onepass::driver {

inline constexpr const char* kExercise = "Such as rmsnorm/forward, 1.2 or a file's path";
inline constexpr const char* kSubmission =
    "A folder laid out like exercises/, which is the default";
inline constexpr const char* kDevice =
    "cpu (the simulator) or gpu; default: the GPU if there is one";
inline constexpr const char* kSeed = "What the inputs are drawn from";
inline constexpr std::int64_t kMostSeed = std::numeric_limits<std::int64_t>::max();

}  // namespace onepass::driver
