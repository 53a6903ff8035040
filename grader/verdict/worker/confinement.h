// What a worker may not do: the limits that are put on it between fork and exec.
//
//   - no core files, no file above 1 GiB, 4096 descriptors at most
//   - no new privileges, by way of setuid programs
//   - where the kernel has Landlock (Linux 5.13 and later): no writing outside /dev and /proc, no
//     ptrace of others, and from Linux 6.2 on no truncating, from 6.7 no TCP, from 6.12 no signals
//     to others
// There is no limit on address space, because CUDA reserves far more than it uses. The kernel's
// out-of-memory killer is asked to take the worker first.
#pragma once

namespace onepass::verdict {

/// Puts the limits on the calling process. To be called in the child, before exec.
void confine();

}  // namespace onepass::verdict
