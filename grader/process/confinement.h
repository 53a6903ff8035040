// What a program that is not trusted may do, and how the kernel holds it to that before its first
// line: the layers are put on the child before it becomes the program.
#pragma once

#include <sys/resource.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "process/landlock.h"
#include "process/system_calls.h"

namespace onepass::process {

/// What is not named is not allowed, as far as the layers that are there can see to it.
struct Allowance {
  std::vector<PathRule> paths;
  unsigned own_proc = right::read;  // below its own part of /proc
  SystemCalls calls = SystemCalls::of_computing;
  std::vector<std::string> variables;          // of the environment: "HOME", or "CUDA_*"
  std::vector<std::pair<int, rlim_t>> limits;  // RLIMIT_..., and the most
};

/// The absolute ones of the paths that a variable such as PATH lists.
std::vector<std::string> paths_in(const char* variable);

/// Where PATH has this program, "/usr/bin/ld" of "ld"; empty if it has none.
std::string program_on_path(const std::string& name);

/// Does it have this variable, "NAME=value"?
bool keeps(const Allowance& allowance, std::string_view variable);

/// The layers that the kernel, and how the grader was built, allow here.
struct Layers {
  int landlock = 0;           // its version
  bool system_calls = false;  // a filter of them
};
Layers layers();

/// What is not prevented without the layers that are missing, a sentence each. Empty if all is.
std::vector<std::string> gaps(const Layers& layers);

/// This process is nobody's to look into or to trace. For the driver and the deciding process,
/// first of all.
void shield_this_process();

/// Memory that lies where nobody can guess.
class Hidden {
 public:
  /// Throws std::system_error if there is none.
  explicit Hidden(std::size_t bytes);
  Hidden(const Hidden&) = delete;
  Hidden& operator=(const Hidden&) = delete;
  ~Hidden();

  void* memory() const { return memory_; }

 private:
  std::size_t bytes_;
  void* memory_ = nullptr;
};

/// A command with its allowance, ready to be put on a child.
class Confinement {
 public:
  /// Throws std::system_error if a layer that is there cannot be used.
  Confinement(const Allowance& allowance, const std::vector<std::string>& command);

  /// In the child, between fork and exec: puts all layers on it. Returns errno, 0 if all is well.
  /// Then nothing can be run but words(), by its path.
  int enter();
  char** words() const { return static_cast<char**>(words_.memory()); }

 private:
  std::vector<std::pair<int, rlim_t>> limits_;
  unsigned own_proc_;
  Hidden text_, words_;
  Landlock landlock_;
  SystemCallFilter filter_;
};

}  // namespace onepass::process
