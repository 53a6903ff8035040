// CUB's collectives for the threads of a block, as far as the simulator has them.
//
// They are written anew, for what CUB is made of (inline PTX, its choice by architecture) says
// nothing to a host compiler. All is inlined: a finding is at the line that calls a collective.
#pragma once

#include "block/block_load.cuh"
#include "block/block_reduce.cuh"
#include "block/block_scan.cuh"
#include "block/block_store.cuh"
#include "warp/warp_reduce.cuh"
