// What /proc knows of the processes that a worker has started.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace onepass::verdict {

/// All tasks of the machine; cheap to ask.
long tasks_on_machine();

/// Processes in the session whose leader is (or was) `leader`. Reads all of /proc.
long processes_in_session(pid_t leader);

/// Its children.
long processes_with_parent(pid_t parent);

/// From here on, orphans of our children become our own children, where they can be found and
/// killed.
void adopt_orphans();

/// Kills and reaps every child of this process that is not listed: those that left the group of a
/// worker that is gone.
void kill_children_except(const std::vector<pid_t>& spared);

}  // namespace onepass::verdict
