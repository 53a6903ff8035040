#include "verdict/worker/confinement.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

namespace onepass::verdict {
namespace {

void limit(int resource, rlim_t most) {
  rlimit current{};
  if (getrlimit(static_cast<__rlimit_resource>(resource), &current) == 0) {
    current.rlim_max = std::min(current.rlim_max, most);
    current.rlim_cur = std::min(current.rlim_cur, current.rlim_max);
    setrlimit(static_cast<__rlimit_resource>(resource), &current);
  }
}

/// "Take me first when memory runs out."
void volunteer_for_out_of_memory() {
  const int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file >= 0) {
    [[maybe_unused]] const ssize_t written = write(file, "1000", 4);
    close(file);
  }
}

/// Reading and executing stay free; everything that changes a file system is what rules are for.
constexpr unsigned long long kWriting =
    LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |
    LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
    LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK |
    LANDLOCK_ACCESS_FS_MAKE_SYM;

void allow_writing_below(int ruleset, const char* folder) {
  landlock_path_beneath_attr rule{};
  rule.allowed_access = kWriting;
  rule.parent_fd = open(folder, O_PATH | O_CLOEXEC);
  if (rule.parent_fd >= 0) {
    syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    close(rule.parent_fd);
  }
}

void forbid_writing() {
  landlock_ruleset_attr attributes{};
  attributes.handled_access_fs = kWriting;
  std::size_t size = sizeof attributes.handled_access_fs;  // older kernels know this member only
#ifdef LANDLOCK_ACCESS_NET_BIND_TCP
  if (syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION) >= 4) {
    attributes.handled_access_net = LANDLOCK_ACCESS_NET_BIND_TCP | LANDLOCK_ACCESS_NET_CONNECT_TCP;
    size = sizeof attributes.handled_access_fs + sizeof attributes.handled_access_net;
  }
#endif
  const int ruleset = static_cast<int>(syscall(SYS_landlock_create_ruleset, &attributes, size, 0));
  if (ruleset < 0) {
    return;
  }
  allow_writing_below(ruleset, "/dev");  // the GPU is a device file
  allow_writing_below(ruleset, "/proc");
  syscall(SYS_landlock_restrict_self, ruleset, 0);
  close(ruleset);
}

}  // namespace

void confine() {
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_FSIZE, rlim_t{1} << 30);
  limit(RLIMIT_NOFILE, 4096);
  volunteer_for_out_of_memory();
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  forbid_writing();
}

}  // namespace onepass::verdict
