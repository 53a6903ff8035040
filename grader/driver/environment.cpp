#include "driver/environment.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

#include "driver/bad_input.h"
#include "process/interrupt.h"

namespace onepass::driver {
namespace {

constexpr rlim_t kLeastFiles = 128;  // the runs of a few compilers and graders at once
constexpr rlim_t kGoodFiles = 4096;
constexpr rlim_t kGoodStack = 8 << 20;  // the system's usual one; templates nest deep in compilers

// Returns what the limit is then.
rlim_t raise(__rlimit_resource resource, rlim_t good) {
  rlimit limit{};
  getrlimit(resource, &limit);
  limit.rlim_cur = std::max(limit.rlim_cur, std::min(limit.rlim_max, good));
  setrlimit(resource, &limit);
  return limit.rlim_cur;
}

}  // namespace

void prepare_process() {
  int file = 0;
  while ((file = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0 && file <= STDERR_FILENO) {
    fcntl(file, F_SETFD, 0);
  }
  close(file);
  for (const int number : {SIGPIPE, SIGXFSZ}) {  // who writes is told by errno
    signal(number, SIG_IGN);
  }
  process::catch_interrupts();
  setenv("LC_ALL", "C", 1);
}

void require_limits() {
  const rlim_t files = raise(RLIMIT_NOFILE, kGoodFiles);
  if (files < kLeastFiles) {
    throw GraderFault(
        fmt::format("The limit on open files is {}: raise it to {} at least (ulimit -n {}).", files,
                    kLeastFiles, kGoodFiles));
  }
  const rlim_t stack = raise(RLIMIT_STACK, kGoodStack);
  if (stack < kGoodStack) {
    throw GraderFault(fmt::format(
        "The limit on the stack is {} KiB, too little for compilers: raise it (ulimit -s {}).",
        stack >> 10, kGoodStack >> 10));
  }
  if (const rlim_t memory = raise(RLIMIT_AS, RLIM_INFINITY); memory != RLIM_INFINITY) {
    throw GraderFault(fmt::format(
        "The limit on addresses is {} MiB: lift it (ulimit -v unlimited). The simulator "
        "and CUDA reserve far more than they use.",
        memory >> 20));
  }
  if (const rlim_t seconds = raise(RLIMIT_CPU, RLIM_INFINITY); seconds != RLIM_INFINITY) {
    throw GraderFault(fmt::format(
        "The limit on processor time is {} s: lift it (ulimit -t unlimited). A submission that "
        "comes to it would seem to be at fault.",
        seconds));
  }
  pthread_attr_t attributes;  // threads had theirs from the limit at our start
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kGoodStack);
  pthread_setattr_default_np(&attributes);
  pthread_attr_destroy(&attributes);
}

}  // namespace onepass::driver
