// threadIdx, blockIdx, blockDim, gridDim and warpSize.
#pragma once

#include "vector_types.h"

using simulator::blockDim;
using simulator::blockIdx;
using simulator::gridDim;
using simulator::threadIdx;

constexpr int warpSize = 32;
