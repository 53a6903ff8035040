#include "process/interrupt.h"

#include <signal.h>

#include <initializer_list>

namespace onepass::process {
namespace {

volatile sig_atomic_t signal_came = 0;

void note(int) {
  signal_came = 1;
}

}  // namespace

void catch_interrupts() {
  struct sigaction action = {};
  action.sa_handler = note;
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    sigaction(number, &action, nullptr);
  }
}

bool interrupted() {
  return signal_came != 0;
}

}  // namespace onepass::process
