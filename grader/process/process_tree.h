// What /proc knows of the processes that ours have started.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

namespace onepass::process {

/// All tasks of the machine; cheap to ask.
long tasks_on_machine();

/// Processes in the session whose leader is (or was) `leader`. Reads all of /proc.
long processes_in_session(pid_t leader);

/// Kills all processes of this session until there are none.
void kill_session(pid_t leader);

/// What a process has at the moment; nothing of one that is gone.
struct Usage {
  long threads = 0;
  std::uint64_t memory = 0;  // bytes in use, not those that are only reserved; with what the kernel
                             // needs to keep account of them, and what it has put on a disk
};
Usage usage_of(pid_t pid);

/// The children of this process. Reads all of /proc.
std::vector<pid_t> children();

/// Kills and reaps every child of this process that is not listed, again and again until there are
/// none: the orphans that they leave become our children too.
void kill_children_except(const std::vector<pid_t>& spared);

}  // namespace onepass::process
