// make_float4() and its kin.
#pragma once

#include "onepass_simulator/vector_types.h"
