// What nvcc gives every .cu file: CUDA's language and the runtime library, for the CPU simulator.
#pragma once

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "onepass_simulator/atomics.h"
#include "onepass_simulator/barriers.h"
#include "onepass_simulator/bit_intrinsics.h"
#include "onepass_simulator/launch_functions.h"
#include "onepass_simulator/math_intrinsics.h"
#include "onepass_simulator/memory_hints.h"
#include "onepass_simulator/min_max.h"
#include "onepass_simulator/warp.h"
