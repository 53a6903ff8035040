// The runtime library alone.
#pragma once

#include "onepass_simulator/runtime_api.h"
