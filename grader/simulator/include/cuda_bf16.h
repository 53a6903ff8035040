// __nv_bfloat16 and __nv_bfloat162.
#pragma once

#include "onepass_simulator/bfloat16.h"
