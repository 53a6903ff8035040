// char1 to double4 and dim3: CUDA's short vectors, with CUDA's alignments.
//
// They are plain structs, so that they may stand in shared memory. One with 2 or 4 parts is aligned
// to its size, up to 16 bytes: that is what makes one wide access of it, and what the simulator
// checks.
#pragma once

#include "device_calls.h"
#include "qualifiers.h"

#define ONEPASS_VECTOR_1(name, part)               \
  struct name##1 {                                 \
    part x;                                        \
  };                                               \
  __forceinline__ name##1 make_##name##1(part x) { \
    return {x};                                    \
  }
#define ONEPASS_VECTOR_2(name, part, alignment)            \
  struct alignas(alignment) name##2 {                      \
    part x, y;                                             \
  };                                                       \
  __forceinline__ name##2 make_##name##2(part x, part y) { \
    return {x, y};                                         \
  }
#define ONEPASS_VECTOR_3(name, part)                               \
  struct name##3 {                                                 \
    part x, y, z;                                                  \
  };                                                               \
  __forceinline__ name##3 make_##name##3(part x, part y, part z) { \
    return {x, y, z};                                              \
  }
#define ONEPASS_VECTOR_4(name, part, alignment)                            \
  struct alignas(alignment) name##4 {                                      \
    part x, y, z, w;                                                       \
  };                                                                       \
  __forceinline__ name##4 make_##name##4(part x, part y, part z, part w) { \
    return {x, y, z, w};                                                   \
  }
#define ONEPASS_VECTORS(name, part, alignment_of_2, alignment_of_4) \
  ONEPASS_VECTOR_1(name, part)                                      \
  ONEPASS_VECTOR_2(name, part, alignment_of_2)                      \
  ONEPASS_VECTOR_3(name, part)                                      \
  ONEPASS_VECTOR_4(name, part, alignment_of_4)

ONEPASS_VECTORS(char, signed char, 2, 4)
ONEPASS_VECTORS(uchar, unsigned char, 2, 4)
ONEPASS_VECTORS(short, short, 4, 8)
ONEPASS_VECTORS(ushort, unsigned short, 4, 8)
ONEPASS_VECTORS(int, int, 8, 16)
ONEPASS_VECTORS(long, long, 16, 16)
ONEPASS_VECTORS(ulong, unsigned long, 16, 16)
ONEPASS_VECTORS(longlong, long long, 16, 16)
ONEPASS_VECTORS(ulonglong, unsigned long long, 16, 16)
ONEPASS_VECTORS(float, float, 8, 16)
ONEPASS_VECTORS(double, double, 16, 16)

// uint3 stands in device_calls.h.
ONEPASS_VECTOR_1(uint, unsigned int)
ONEPASS_VECTOR_2(uint, unsigned int, 8)
ONEPASS_VECTOR_4(uint, unsigned int, 16)
__forceinline__ uint3 make_uint3(unsigned int x, unsigned int y, unsigned int z) {
  return {x, y, z};
}

#undef ONEPASS_VECTORS
#undef ONEPASS_VECTOR_1
#undef ONEPASS_VECTOR_2
#undef ONEPASS_VECTOR_3
#undef ONEPASS_VECTOR_4

/// The shape of a grid or a block. What is not given is 1.
struct dim3 {
  unsigned int x, y, z;
  constexpr dim3(unsigned int vx = 1, unsigned int vy = 1, unsigned int vz = 1)
      : x(vx), y(vy), z(vz) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  constexpr operator uint3() const { return uint3{x, y, z}; }
};
