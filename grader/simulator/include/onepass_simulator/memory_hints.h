// Loads and stores with a caching hint: __ldg, __ldcs, __stcs and the others.
//
// The simulator has no cache, so each is a plain access, seen by the checkers like any other.
// __ldg() is told besides: a GPU may take another way for it, on which it does not see what the
// kernel writes.
#pragma once

#include "device_calls.h"
#include "vector_types.h"

#define ONEPASS_READ_ONLY_LOAD(name, T)                                      \
  __forceinline__ T name(const T* address) {                                 \
    return *static_cast<const T*>(simulator::read_only(address, sizeof(T))); \
  }

#define ONEPASS_LOAD(name, T)                \
  __forceinline__ T name(const T* address) { \
    return *address;                         \
  }
#define ONEPASS_STORE(name, T)                     \
  __forceinline__ void name(T* address, T value) { \
    *address = value;                              \
  }

/// All of them for one type.
#define ONEPASS_MEMORY_HINTS(T)    \
  ONEPASS_READ_ONLY_LOAD(__ldg, T) \
  ONEPASS_LOAD(__ldca, T)          \
  ONEPASS_LOAD(__ldcg, T)          \
  ONEPASS_LOAD(__ldcs, T)          \
  ONEPASS_LOAD(__ldlu, T)          \
  ONEPASS_LOAD(__ldcv, T)          \
  ONEPASS_STORE(__stwb, T)         \
  ONEPASS_STORE(__stcg, T)         \
  ONEPASS_STORE(__stcs, T)         \
  ONEPASS_STORE(__stwt, T)

ONEPASS_MEMORY_HINTS(char)
ONEPASS_MEMORY_HINTS(signed char)
ONEPASS_MEMORY_HINTS(unsigned char)
ONEPASS_MEMORY_HINTS(short)
ONEPASS_MEMORY_HINTS(unsigned short)
ONEPASS_MEMORY_HINTS(int)
ONEPASS_MEMORY_HINTS(unsigned)
ONEPASS_MEMORY_HINTS(long)
ONEPASS_MEMORY_HINTS(unsigned long)
ONEPASS_MEMORY_HINTS(long long)
ONEPASS_MEMORY_HINTS(unsigned long long)
ONEPASS_MEMORY_HINTS(float)
ONEPASS_MEMORY_HINTS(double)
ONEPASS_MEMORY_HINTS(char2)
ONEPASS_MEMORY_HINTS(char4)
ONEPASS_MEMORY_HINTS(uchar2)
ONEPASS_MEMORY_HINTS(uchar4)
ONEPASS_MEMORY_HINTS(short2)
ONEPASS_MEMORY_HINTS(short4)
ONEPASS_MEMORY_HINTS(ushort2)
ONEPASS_MEMORY_HINTS(ushort4)
ONEPASS_MEMORY_HINTS(int2)
ONEPASS_MEMORY_HINTS(int4)
ONEPASS_MEMORY_HINTS(uint2)
ONEPASS_MEMORY_HINTS(uint4)
ONEPASS_MEMORY_HINTS(longlong2)
ONEPASS_MEMORY_HINTS(ulonglong2)
ONEPASS_MEMORY_HINTS(float2)
ONEPASS_MEMORY_HINTS(float4)
ONEPASS_MEMORY_HINTS(double2)
