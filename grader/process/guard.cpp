#include "process/guard.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <set>
#include <string>

#include "process/process_tree.h"

namespace onepass::process {
namespace {

// Its other end is the guard's, which reads one note after another, each a sign and what it is
// about, with a zero behind it; and the end when we are gone.
int notes = -1;

void note(const std::string& sign_and_text) {
  const std::size_t size = sign_and_text.size() + 1;
  if (notes >= 0 && size <= PIPE_BUF) {  // in one piece, whoever else writes
    [[maybe_unused]] const ssize_t written = write(notes, sign_and_text.c_str(), size);
  }
}

struct Guarded {
  std::set<std::string> paths;
  std::set<std::string> leaders;

  void take(const std::string& note) {
    std::set<std::string>& of_kind = note[1] == 'p' ? paths : leaders;
    if (note[0] == '+') {
      of_kind.insert(note.substr(2));
    } else {
      of_kind.erase(note.substr(2));
    }
  }

  void undo() const {
    for (const std::string& leader : leaders) {
      kill_session(std::stoi(leader));
    }
    for (const std::string& path : paths) {
      std::error_code ignored;
      std::filesystem::remove_all(path, ignored);
    }
  }
};

// The guard. It keeps nothing open, and no terminal reaches it.
[[noreturn]] void wait_for_end(int from) {
  setsid();
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) {
    signal(number, SIG_IGN);
  }
  prctl(PR_SET_NAME, "onepass-guard");
  [[maybe_unused]] const int failed = chdir("/");
  dup2(from, 0);
  syscall(SYS_close_range, 1u, ~0u, 0u);
  Guarded guarded;
  std::string unfinished;
  char piece[4096];
  ssize_t length = 0;
  while ((length = read(0, piece, sizeof piece)) > 0 || (length < 0 && errno == EINTR)) {
    for (ssize_t i = 0; i < length; ++i) {
      if (piece[i] != '\0') {
        unfinished += piece[i];
      } else {
        guarded.take(unfinished);
        unfinished.clear();
      }
    }
  }
  guarded.undo();
  _exit(0);
}

}  // namespace

Guard::Guard() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return;
  }
  pid_ = fork();
  if (pid_ == 0) {
    close(ends[1]);
    wait_for_end(ends[0]);
  }
  close(ends[0]);
  notes = ends[1];
}

Guard::~Guard() {
  if (notes >= 0) {
    close(notes);
    notes = -1;
  }
  if (pid_ > 0) {
    waitpid(pid_, nullptr, 0);
  }
}

void guard_path(const std::filesystem::path& path) {
  note("+p" + std::filesystem::absolute(path).string());
}

void release_path(const std::filesystem::path& path) {
  note("-p" + std::filesystem::absolute(path).string());
}

void guard_session(pid_t leader) {
  note("+s" + std::to_string(leader));
}

void release_session(pid_t leader) {
  note("-s" + std::to_string(leader));
}

}  // namespace onepass::process
