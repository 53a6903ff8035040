#include "driver/student/keys.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

namespace onepass::driver {
namespace {

volatile sig_atomic_t stop_came = 0;

void note_stop(int) {
  stop_came = 1;
}

}  // namespace

Keys::Keys() {
  // Who is in the background would be stopped by asking.
  if (isatty(STDIN_FILENO) == 1 && tcgetpgrp(STDIN_FILENO) == getpgrp() &&
      tcgetattr(STDIN_FILENO, &before_) == 0) {
    on_ = true;
    struct sigaction action = {};
    action.sa_handler = note_stop;
    sigaction(SIGTSTP, &action, nullptr);
    take_terminal();
  }
}

Keys::~Keys() {
  if (on_) {
    give_back();
    signal(SIGTSTP, SIG_DFL);
  }
}

int Keys::descriptor() const {
  return on_ ? STDIN_FILENO : -1;
}

std::optional<char> Keys::take() {
  pollfd terminal = {STDIN_FILENO, POLLIN, 0};
  if (!on_ || poll(&terminal, 1, 0) <= 0) {
    return std::nullopt;
  }
  char key = 'q';
  return read(STDIN_FILENO, &key, 1) == 1 ? key : 'q';
}

bool Keys::stop_if_asked() {
  if (stop_came == 0) {
    return false;
  }
  stop_came = 0;
  give_back();
  kill(getpid(), SIGSTOP);
  take_terminal();
  return true;
}

void Keys::take_terminal() {
  termios raw = before_;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  raw.c_cc[VMIN] = 1;
  raw.c_cc[VTIME] = 0;
  tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
}

void Keys::give_back() const {
  tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
}

}  // namespace onepass::driver
