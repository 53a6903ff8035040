// What the simulator makes of CUDA's names: the table simulator/api/cuda.txt, as a part of the
// program. A name that is not simulated is not declared either, so it comes up in g++'s messages.
#pragma once

#include <map>
#include <optional>
#include <string>

namespace onepass::driver {

/// Name to section ("simulated", "refused: CUDA graphs"). Those of cooperative_groups and cub have
/// its name before them; a header's has a dot, and that of a folder ends in "/*".
const std::map<std::string, std::string>& cuda_names();

/// What to say in place of a message of g++'s about a name of CUDA's that it does not know, or a
/// header that is not there; nothing if the message is about something else.
std::optional<std::string> about_cuda_name(const std::string& message);

}  // namespace onepass::driver
