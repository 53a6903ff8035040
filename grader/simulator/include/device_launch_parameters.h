// threadIdx, blockIdx, blockDim and gridDim.
#pragma once

#include "onepass_simulator/indices.h"
