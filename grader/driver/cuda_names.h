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

/// The same of a message that is about a name for short, as the source has it: `namespace p =
/// cuda::ptx;` and then p::mapa, or `using namespace cuda::ptx;` and then mapa.
std::optional<std::string> about_short_name(const std::string& message, const std::string& source);

}  // namespace onepass::driver
