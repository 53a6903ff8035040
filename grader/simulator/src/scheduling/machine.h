// The simulated device: all that outlasts a launch.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "checkers/checkers.h"
#include "device_limits.h"
#include "findings/findings.h"
#include "memory/memory.h"
#include "scheduling/block_choice.h"
#include "scheduling/errors.h"
#include "scheduling/fiber.h"
#include "scheduling/host_calls.h"
#include "scheduling/kernel_attributes.h"
#include "scheduling/streams.h"
#include "simulator.h"

namespace simulator {

struct Machine {
  Memory memory;
  ShadowMemory shadow;
  StackPool stacks;
  KernelAttributes attributes;
  HostCalls host_calls;
  Streams streams;
  /// The stream whose last work is a kernel, if nothing else was put on a stream since and the host
  /// has not waited: a launch there may begin before that kernel has ended (races/early_begin.h).
  /// When a call begins the caller's work may be such a kernel.
  std::optional<const void*> kernel_before;

  Errors errors;
  CheckerSettings settings;  // of the next launches
  BlockChoice blocks;        // likewise
  int multiprocessors = limits::kMultiprocessors;
  const limits::Generation* generation = &limits::kGenerations[0];
  bool refuses_launches = false;
  double time_limit = 10;          // CPU seconds for a launch
  std::uint64_t access_limit = 0;  // of a launch; 0: none

  // What the host has not taken yet.
  Findings findings;
  std::vector<LaunchTraffic> traffic;
  std::vector<std::vector<TracedRequest>> trace;  // one list for each launch
};

/// The only one, for CUDA's runtime functions carry no handle either.
Machine& machine();

}  // namespace simulator
