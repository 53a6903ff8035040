// cooperative_groups: thread_block, tiled_partition, coalesced_threads.
#pragma once

#include "onepass_simulator/cooperative_groups.h"
