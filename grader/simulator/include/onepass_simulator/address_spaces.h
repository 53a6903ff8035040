// Addresses within one memory space, and which space a pointer leads to.
//
// The simulator's pointers are the machine's own. As on a GPU, only shared memory has addresses
// besides, which start near 0 and fit 32 bits: what PTX's ld.shared wants.
#pragma once

#include "bits.h"
#include "device_calls.h"

ONEPASS_INTRINSIC(size_t, __cvta_generic_to_shared, (const void* pointer),
                  simulator::shared_address(pointer))
ONEPASS_INTRINSIC(void*, __cvta_shared_to_generic, (size_t address),
                  simulator::shared_pointer(address))
ONEPASS_INTRINSIC(size_t, __cvta_generic_to_global, (const void* pointer),
                  reinterpret_cast<size_t>(pointer))
ONEPASS_INTRINSIC(void*, __cvta_global_to_generic, (size_t address),
                  reinterpret_cast<void*>(address))
ONEPASS_INTRINSIC(unsigned, __isShared, (const void* pointer), simulator::is_shared(pointer))
ONEPASS_INTRINSIC(unsigned, __isGlobal, (const void* pointer), simulator::is_global(pointer))
