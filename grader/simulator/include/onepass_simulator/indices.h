// threadIdx, blockIdx, blockDim, gridDim and warpSize.
//
// They are macros for a const object of the runtime: the compiler's memory callbacks leave reads of
// a const object out, and the scheduler sets it anew for each thread that it resumes.
#pragma once

#include "vector_types.h"

#define threadIdx (::simulator::current_thread.thread)
#define blockIdx (::simulator::current_thread.block)
#define blockDim (::simulator::current_thread.block_size)
#define gridDim (::simulator::current_thread.grid_size)

constexpr int warpSize = 32;
