// What a GPU's compiler has said, as text for a terminal.
#pragma once

#include <string>

#include "driver/terminal.h"

namespace onepass::driver {

/// A line for an exercise: always for one by itself, of several for those of which there is
/// something to say. And which of them fail by it, if `told`, the report whose verdict has been
/// printed, does not have that yet. Empty if nothing was compiled.
std::string render_gpu_code(const Json& told, const Json& report, Style style);

}  // namespace onepass::driver
