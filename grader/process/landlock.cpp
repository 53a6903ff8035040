// The constants are those of the kernel's documentation: a system's headers may be older than its
// kernel, and what they lack would be allowed.
#include "process/landlock.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <system_error>

namespace onepass::process {
namespace {

// The same numbers on every architecture.
constexpr long kCreateRuleset = 444, kAddRule = 445, kRestrictSelf = 446;
constexpr unsigned kAskVersion = 1, kPathBeneath = 1;

constexpr unsigned kOfFiles = right::execute | right::read | right::modify | right::control;

struct RulesetAttributes {
  std::uint64_t files = 0;
  std::uint64_t tcp = 0;     // bind, connect
  std::uint64_t scoped = 0;  // abstract sockets, signals
};

struct PathAttributes {
  std::uint64_t allowed;
  std::int32_t parent;
} __attribute__((packed));

unsigned known_to(int version) {
  constexpr unsigned kMove = 1 << 13, kCut = 1 << 14;
  const unsigned all = kOfFiles | right::list | right::create;
  return all & ~((version < 2 ? kMove : 0) | (version < 3 ? kCut : 0) |
                 (version < 5 ? right::control : 0));
}

/// Allows it. Does what is safe between fork and exec. Returns errno; it is no error if there is no
/// such path, or none that we may reach.
int add_rule(int ruleset, const char* path, unsigned rights) {
  PathAttributes rule = {rights, open(path, O_PATH | O_CLOEXEC)};
  if (rule.parent < 0) {
    const bool unreachable =
        errno == ENOENT || errno == ENOTDIR || errno == EACCES || errno == ELOOP;
    return unreachable ? 0 : errno;
  }
  struct stat status {};
  if (fstat(rule.parent, &status) == 0 && !S_ISDIR(status.st_mode)) {
    rule.allowed &= kOfFiles;
  }
  const bool added = rule.allowed == 0 || syscall(kAddRule, ruleset, kPathBeneath, &rule, 0) == 0;
  const int error = added ? 0 : errno;
  close(rule.parent);
  return error;
}

[[noreturn]] void fail(int error) {
  throw std::system_error(error, std::generic_category(), "Landlock");
}

}  // namespace

int landlock_version() {
  return static_cast<int>(std::max(0L, syscall(kCreateRuleset, nullptr, 0, kAskVersion)));
}

Landlock::Landlock(const std::vector<PathRule>& rules) {
  const int version = landlock_version();
  if (version == 0) {
    return;
  }
  known_ = known_to(version);
  const RulesetAttributes attributes = {known_, 3, 3};
  const std::size_t words = version >= 6 ? 3 : version >= 4 ? 2 : 1;  // older ones know no more
  ruleset_ =
      static_cast<int>(syscall(kCreateRuleset, &attributes, words * sizeof attributes.files, 0));
  if (ruleset_ < 0) {
    fail(errno);
  }
  for (const PathRule& rule : rules) {
    if (const int error = add_rule(ruleset_, rule.path.c_str(), rule.rights & known_)) {
      close(ruleset_);
      fail(error);
    }
  }
}

Landlock::~Landlock() {
  if (ruleset_ >= 0) {
    close(ruleset_);
  }
}

int Landlock::enter(unsigned own_proc) const {
  if (ruleset_ < 0) {
    return 0;
  }
  // A rule is for the folder of a process, and only now there is one.
  if (const int error = add_rule(ruleset_, "/proc/self", own_proc & known_)) {
    return error;
  }
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || syscall(kRestrictSelf, ruleset_, 0) != 0
             ? errno
             : 0;
}

}  // namespace onepass::process
