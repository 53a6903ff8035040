// __half and __half2.
#pragma once

#include "onepass_simulator/half.h"
