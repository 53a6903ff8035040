#include "process/landlock.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

namespace onepass::process {
namespace {

// The kernel's names and numbers (linux/landlock.h), written out: the header that we are built with
// may be older than the kernel that we run on. The version that brought each stands behind it.
constexpr std::uint64_t kExecute = 1 << 0;
constexpr std::uint64_t kWriteFile = 1 << 1;
constexpr std::uint64_t kReadFile = 1 << 2;
constexpr std::uint64_t kReadFolder = 1 << 3;
constexpr std::uint64_t kAllOfVersion1 = (1 << 13) - 1;  // removing and making of all kinds too
constexpr std::uint64_t kRefer = 1 << 13;                // 2: moving between folders
constexpr std::uint64_t kTruncate = 1 << 14;             // 3
constexpr std::uint64_t kDeviceControl = 1 << 15;        // 5: ioctl
constexpr std::uint64_t kAllOfTcp = 3;                   // 4: bind, connect
constexpr std::uint64_t kAllScopes = 3;                  // 6: abstract sockets, signals
constexpr std::uint64_t kOfFiles = kExecute | kWriteFile | kReadFile | kTruncate | kDeviceControl;

struct Ruleset {
  std::uint64_t files;
  std::uint64_t tcp;
  std::uint64_t scopes;
};

struct __attribute__((packed)) BelowPath {
  std::uint64_t allowed;
  std::int32_t parent;
};

constexpr unsigned kAskVersion = 1;
constexpr int kRuleBelowPath = 1;

std::uint64_t files_of_version(int version) {
  return kAllOfVersion1 | (version >= 2 ? kRefer : 0) | (version >= 3 ? kTruncate : 0) |
         (version >= 5 ? kDeviceControl : 0);
}

std::uint64_t rights(Reach reach) {
  constexpr std::uint64_t reading = kExecute | kReadFile | kReadFolder;
  switch (reach) {
    case Reach::read:
      return reading;
    case Reach::write:
      return ~std::uint64_t{0};
    case Reach::change:
      return kReadFile | kReadFolder | kWriteFile | kTruncate | kDeviceControl;
  }
  return 0;
}

void allow(int ruleset, const Place& place, std::uint64_t handled) {
  const int file = open(place.path.c_str(), O_PATH | O_CLOEXEC);
  struct stat status {};
  if (file >= 0 && fstat(file, &status) == 0) {
    const std::uint64_t possible = S_ISDIR(status.st_mode) ? handled : handled & kOfFiles;
    const BelowPath rule = {rights(place.reach) & possible, file};
    syscall(SYS_landlock_add_rule, ruleset, kRuleBelowPath, &rule, 0);
  }
  if (file >= 0) {
    close(file);
  }
}

}  // namespace

int landlock_version() {
  const long version = syscall(SYS_landlock_create_ruleset, nullptr, 0, kAskVersion);
  return static_cast<int>(std::max(0L, version));
}

bool confine_to(const std::vector<Place>& places) noexcept {
  const int version = landlock_version();
  const Ruleset asked = {files_of_version(version), kAllOfTcp, kAllScopes};
  // An older kernel knows the first members only.
  const std::size_t members = version >= 6 ? 3 : version >= 4 ? 2 : 1;
  const int ruleset = static_cast<int>(
      syscall(SYS_landlock_create_ruleset, &asked, members * sizeof asked.files, 0));
  if (ruleset < 0) {
    return false;
  }
  for (const Place& place : places) {
    allow(ruleset, place, asked.files);
  }
  const bool confined = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                        syscall(SYS_landlock_restrict_self, ruleset, 0) == 0;
  close(ruleset);
  return confined;
}

void limit(int resource, unsigned long long most, unsigned long long soft) noexcept {
  rlimit current{};
  if (getrlimit(static_cast<__rlimit_resource>(resource), &current) == 0) {
    current.rlim_max = std::min<rlim_t>(current.rlim_max, most);
    current.rlim_cur = std::min({current.rlim_cur, current.rlim_max, static_cast<rlim_t>(soft)});
    setrlimit(static_cast<__rlimit_resource>(resource), &current);
  }
}

}  // namespace onepass::process
