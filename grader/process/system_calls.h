// A filter of system calls, by libseccomp: for what is no matter of files, and so not of Landlock.
// Without that library when the grader was built, there is none.
#pragma once

#include <linux/filter.h>

#include <vector>

namespace onepass::process {

/// Which a program may make.
enum class SystemCalls {
  any,
  of_computing,     // no other programs, processes or sockets; nothing done to others, to the
                    // machine, or to what a file is called, who owns it and who may read it
  of_a_gpu_driver,  // the same, but with sockets that nobody can be reached with, and ioctl()
};

/// Does a filter work here?
bool can_filter_system_calls();

/// A filter that is ready to be put on a child.
class SystemCallFilter {
 public:
  /// `path` and `words`: of the one execve() that it lets through, by which the child becomes the
  /// program. What is there does not matter, where it lies does; so let nobody guess it.
  /// Throws std::system_error where a filter works and cannot be made.
  SystemCallFilter(SystemCalls allowed, const void* path, const void* words);

  /// In the child, between fork and exec: from now on it holds. Returns errno, 0 if all is well;
  /// does nothing where no filter works.
  int enter();

 private:
  std::vector<sock_filter> program_;  // empty: none
};

}  // namespace onepass::process
