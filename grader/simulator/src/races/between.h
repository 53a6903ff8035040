// What lies between two accesses that race and looks like order, but is none: a shuffle, a
// __syncwarp() that leaves out a lane, a fence, an atomic without one.
//
// Of a thread's calls only its last warp operation since the barrier is known. It is taken to lie
// between the two if its line does; where that is not certain nothing is said.
#pragma once

#include <string>

#include "scheduling/threads.h"

namespace simulator {

/// One of two threads of a block, and where its access is.
struct Racer {
  const Thread& thread;
  CodeAddress site;
};

/// In the order in which they are meant to happen. A sentence, or "".
std::string what_lies_between(const Racer& first, const Racer& second, const Block& block);

}  // namespace simulator
