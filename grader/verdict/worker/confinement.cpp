#include "verdict/worker/confinement.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "process/landlock.h"

namespace onepass::verdict {
namespace {

/// "Take me first when memory runs out."
void volunteer_for_out_of_memory() {
  const int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file >= 0) {
    [[maybe_unused]] const ssize_t written = write(file, "1000", 4);
    close(file);
  }
}

// Reading and executing stay free. The GPU is a device file.
const std::vector<process::Place> kPlaces = {
    {"/", process::Reach::read}, {"/dev", process::Reach::write}, {"/proc", process::Reach::write}};

}  // namespace

void confine() {
  process::limit(RLIMIT_CORE, 0);
  process::limit(RLIMIT_FSIZE, 1ull << 30);
  process::limit(RLIMIT_NOFILE, 4096);
  volunteer_for_out_of_memory();
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  process::confine_to(kPlaces);
}

}  // namespace onepass::verdict
