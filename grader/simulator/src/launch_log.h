// The traffic of the launches that the host has not taken yet.
#pragma once

#include <vector>

#include "simulator.h"

namespace simulator {

std::vector<LaunchTraffic>& launch_log();

}  // namespace simulator
