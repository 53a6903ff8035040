// Runs a program on a kernel that says it has no Landlock.
#include <errno.h>
#include <seccomp.h>
#include <unistd.h>

int main(int, char** words) {
  const scmp_filter_ctx context = seccomp_init(SCMP_ACT_ALLOW);
  constexpr int kCreateRuleset = 444;
  if (seccomp_rule_add(context, SCMP_ACT_ERRNO(EOPNOTSUPP), kCreateRuleset, 0) != 0 ||
      seccomp_load(context) != 0) {
    return 1;
  }
  execv(words[1], words + 1);
  return 1;
}
