// What a worker may do: compute, and talk to us. The one place to look at if a GPU's driver comes
// to need more.
#pragma once

#include <cstdint>
#include <string>

#include "process/confinement.h"

namespace onepass::verdict {

/// Of a worker for "cpu" or "gpu". Of files it may read the libraries that such a program is made
/// of, and itself. It writes none, starts no other program and no process, reaches nobody by a
/// socket or a signal, has no privileges of root, and of the environment only what finds libraries.
process::Allowance allowance_of(const std::string& worker, const std::string& device);

/// NVIDIA's driver makes one of its devices when a program first asks for it, by another program,
/// which a worker cannot start: so it is started here, once, before the first worker. What is
/// missing nonetheless, as a sentence after a blank; empty if nothing is.
std::string prepare_gpu();

/// Why this machine cannot run such a worker, whatever code it holds, as a sentence; empty if it
/// can.
std::string obstacle_to(const std::string& device);

/// The loader of a worker, which is that of this program, "" if it has none.
std::string loader();

/// Threads that a worker may have, and bytes of memory besides a call's numbers. CUDA's driver
/// takes some of both.
inline long most_tasks(const std::string& device) {
  return device == "gpu" ? 1000 : 100;
}
inline std::uint64_t most_memory(const std::string& device) {
  return std::uint64_t{device == "gpu" ? 16u : 4u} << 30;
}

constexpr double kCpuSeconds = 3600;  // of its whole life; each call has a time limit of its own

}  // namespace onepass::verdict
