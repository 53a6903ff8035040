// What nvcc gives every .cu file: CUDA's language and the runtime library, for the CPU simulator.
#pragma once

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmath>
#include <cstdlib>
#include <new>
#include <utility>

#ifdef __SANITIZE_THREAD__
// The compiler puts no call before what these read and write: so they are the simulator's own.
extern "C" {
void* memcpy(void* to, const void* from, size_t bytes) noexcept __asm__("__tsan_memcpy");
void* memmove(void* to, const void* from, size_t bytes) noexcept __asm__("__tsan_memmove");
void* memset(void* to, int value, size_t bytes) noexcept __asm__("__tsan_memset");
}
#endif

#include "onepass_simulator/address_spaces.h"
#include "onepass_simulator/array_indices.h"
#include "onepass_simulator/atomics.h"
#include "onepass_simulator/barriers.h"
#include "onepass_simulator/bit_intrinsics.h"
#include "onepass_simulator/launch_functions.h"
#include "onepass_simulator/math_intrinsics.h"
#include "onepass_simulator/memory_hints.h"
#include "onepass_simulator/min_max.h"
#include "onepass_simulator/warp.h"
