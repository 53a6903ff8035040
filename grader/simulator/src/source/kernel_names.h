// By what a kernel is told from others.
//
// The runtime library is given a kernel's address, and a launch mostly knows it. But for a template
// whose arguments follow from the call's, a launch knows no more than what is written before its
// <<<...>>>: until it runs, which instance it is stays open.
#pragma once

#include <cstdint>
#include <string>

#include "onepass_simulator/device_calls.h"

namespace simulator {

struct KernelNames {
  std::string own;       // "k"
  std::string instance;  // "void ns::k<float>(float*)", which another "k" does not have; "": open
};

/// Of the kernel that holds this address, its first or another one.
KernelNames kernel_names(std::uintptr_t address);
KernelNames kernel_names(const LaunchedKernel& kernel);

/// Whether they may be one and the same kernel.
inline bool may_be_same(const KernelNames& a, const KernelNames& b) {
  return a.instance.empty() || b.instance.empty() ? a.own == b.own : a.instance == b.instance;
}

}  // namespace simulator
