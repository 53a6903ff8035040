// Landlock: the kernel's own rules on which files, sockets and processes a program may reach. They
// hold for all that the program starts, and cannot be taken back. Linux 5.13 and later.
#pragma once

#include <string>
#include <vector>

namespace onepass::process {

/// What may be done with a file, or with all below a folder; to be or-ed. The kernel's bits.
namespace right {
constexpr unsigned execute = 1 << 0;
constexpr unsigned read = 1 << 2;                  // files
constexpr unsigned list = 1 << 3;                  // folders
constexpr unsigned modify = 1 << 1 | 1 << 14;      // files that are there: write, cut
constexpr unsigned create = 0x1ff << 4 | 1 << 13;  // of nine kinds: make, remove, move
constexpr unsigned control = 1 << 15;              // ioctl() of a device
}  // namespace right

struct PathRule {
  std::string path;  // if there is none, the rule does nothing
  unsigned rights;
};

/// The version of the kernel's Landlock, 0 if it has none. From 6 on (Linux 6.12), signals to
/// processes outside, and abstract sockets, are denied too.
int landlock_version();

/// Rules that are ready to be put on a child. What no rule names is denied: every way to change or
/// read files that the kernel's version knows, TCP, signals and sockets to the outside.
class Landlock {
 public:
  /// Throws std::system_error where there is Landlock and it refuses.
  explicit Landlock(const std::vector<PathRule>& rules);
  ~Landlock();
  Landlock(const Landlock&) = delete;
  Landlock& operator=(const Landlock&) = delete;

  /// In the child, between fork and exec: from now on they hold. It keeps these rights to its own
  /// part of /proc. Returns errno, 0 if all is well; does nothing where there is no Landlock.
  int enter(unsigned own_proc) const;

 private:
  int ruleset_ = -1;
  unsigned known_ = 0;  // the rights that the kernel's version knows
};

}  // namespace onepass::process
