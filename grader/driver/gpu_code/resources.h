// What a GPU's compiler says of each kernel, and how many of its blocks a multiprocessor has room
// for: what the simulator cannot know.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulator/occupancy.h"

namespace onepass::driver {

/// What a kernel takes of a multiprocessor, by ptxas -v.
struct KernelResources {
  std::string function;  // "void onepass::k<float>(float*)"
  int registers = 0;     // a thread
  int local_bytes = 0;   // a thread: its stack, with what is spilled to it
  int spill_store_bytes = 0, spill_load_bytes = 0;
  int shared_bytes = 0;  // a block, without what a launch adds
};

/// Of each kernel that ptxas, asked to be verbose, speaks of.
std::vector<KernelResources> read_resources(const std::string& ptxas_output);

/// The multiprocessor of compute capability 9.0: the device that the simulator plays.
constexpr const char* kArchitecture = "sm_90";
using simulator::blocks_at_once;

/// The most registers that a thread can have in a block of so many, by what `blocks_at_once` says.
int most_registers(std::uint64_t threads);

/// A function as a demangler tells it, without what a compiler adds for a copy of its own.
std::string same_name(const std::string& function);
/// As a student knows it: "rmsnorm_kernel<float, 4>".
std::string short_name(const std::string& function);

}  // namespace onepass::driver
