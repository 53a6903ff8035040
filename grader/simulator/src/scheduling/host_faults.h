// Host code that uses device memory where the compiler puts no call before it: a copy of constant
// size, or a function of a library, such as strcpy() or sincosf(). While host code is watched the
// memory is out of its reach, as on a GPU. The first access faults, and is told; then the memory is
// back, for the rest of the call.
#pragma once

namespace simulator {

void keep_host_from_memory(bool wanted);

}  // namespace simulator
