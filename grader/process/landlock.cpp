// The constants are those of the kernel's documentation: a system's headers may be older than its
// kernel, and what they lack would be allowed.
#include "process/landlock.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <system_error>

namespace onepass::process {
namespace {

// The same numbers on every architecture.
constexpr long kCreateRuleset = 444, kAddRule = 445, kRestrictSelf = 446;
constexpr unsigned kAskVersion = 1, kPathBeneath = 1;

constexpr std::uint64_t kExecute = 1 << 0, kWriteFile = 1 << 1, kReadFile = 1 << 2,
                        kReadDir = 1 << 3;
constexpr std::uint64_t kRemoveAndMake = 0x1ff << 4;  // of nine kinds: folders, files, links, ...
constexpr std::uint64_t kRefer = 1 << 13, kTruncate = 1 << 14, kIoctlDev = 1 << 15;
constexpr std::uint64_t kOfFiles = kExecute | kWriteFile | kReadFile | kTruncate | kIoctlDev;

struct RulesetAttributes {
  std::uint64_t files = 0;
  std::uint64_t tcp = 0;     // bind, connect
  std::uint64_t scoped = 0;  // abstract sockets, signals
};

struct PathAttributes {
  std::uint64_t allowed;
  std::int32_t parent;
} __attribute__((packed));

/// All that a version knows.
std::uint64_t known_to(int version) {
  std::uint64_t known = kExecute | kWriteFile | kReadFile | kReadDir | kRemoveAndMake;
  known |= version >= 2 ? kRefer : 0;
  known |= version >= 3 ? kTruncate : 0;
  known |= version >= 5 ? kIoctlDev : 0;
  return known;
}

std::uint64_t kernel_rights(unsigned rights) {
  constexpr std::array<std::uint64_t, 6> kOfEach = {
      kReadFile, kReadDir, kExecute, kWriteFile | kTruncate, kRemoveAndMake | kRefer, kIoctlDev};
  std::uint64_t all = 0;
  for (unsigned i = 0; i < kOfEach.size(); ++i) {
    all |= (rights >> i & 1) != 0 ? kOfEach[i] : 0;
  }
  return all;
}

/// Allows it. Does what is safe between fork and exec. Returns errno; it is no error if there is no
/// such path.
int add_rule(int ruleset, const char* path, unsigned rights, int version) {
  PathAttributes rule = {kernel_rights(rights) & known_to(version), open(path, O_PATH | O_CLOEXEC)};
  if (rule.parent < 0) {
    return 0;
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
  const RulesetAttributes attributes = {known_to(version), 3, 3};
  const std::size_t words = version >= 6 ? 3 : version >= 4 ? 2 : 1;  // older ones know no more
  ruleset_ =
      static_cast<int>(syscall(kCreateRuleset, &attributes, words * sizeof attributes.files, 0));
  if (ruleset_ < 0) {
    fail(errno);
  }
  for (const PathRule& rule : rules) {
    if (const int error = add_rule(ruleset_, rule.path.c_str(), rule.rights, version)) {
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
  if (const int error = add_rule(ruleset_, "/proc/self", own_proc, landlock_version())) {
    return error;
  }
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || syscall(kRestrictSelf, ruleset_, 0) != 0
             ? errno
             : 0;
}

}  // namespace onepass::process
