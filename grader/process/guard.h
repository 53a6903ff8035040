// What is to be undone if this process is killed, which it cannot do itself: a process of its own
// waits for that. It ends what Process has started and removes what guard_path() has named. What
// has left the session of a program, which a filter of system calls prevents, it does not find.
#pragma once

#include <sys/types.h>

#include <filesystem>

namespace onepass::process {

class Guard {
 public:
  /// To be made before the first thread and the first Process. Without one, the functions below do
  /// nothing.
  Guard();
  ~Guard();
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

 private:
  pid_t pid_ = -1;
};

/// A file or folder that does not outlive us, until it is released. From any thread.
void guard_path(const std::filesystem::path& path);
void release_path(const std::filesystem::path& path);

/// The same of the session whose leader is `leader`.
void guard_session(pid_t leader);
void release_session(pid_t leader);

}  // namespace onepass::process
