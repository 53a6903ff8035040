// cooperative_groups::reduce.
#pragma once

#include "../onepass_simulator/cooperative_groups_reduce.h"
