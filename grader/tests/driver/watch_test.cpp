// `onepass watch`, as a stream and on a terminal.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <chrono>

#include "driver/files.h"
#include "tests/driver/workbook.h"

using namespace onepass::driver;
using onepass::driver::test::has;
using onepass::driver::test::Workbook;
using std::chrono::steady_clock;

namespace {

// onepass on a terminal of its own.
class Terminal {
 public:
  Terminal(const Workbook& workbook, const char* arguments, unsigned short columns = 0) {
    const std::string command =
        fmt::format("TERM=xterm exec '{}/onepass' --workbook '{}/build/onepass.json' {}",
                    ONEPASS_BINARY_DIR, workbook.root().string(), arguments);
    winsize size = {};
    size.ws_col = columns;
    pid_ = forkpty(&terminal_, nullptr, nullptr, &size);
    if (pid_ == 0) {
      execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
      _exit(127);
    }
    REQUIRE(pid_ > 0);
  }
  ~Terminal() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    close(terminal_);
  }

  // Waits until that is on the screen: in what came since it was cleared last.
  bool shows(const std::string& text) {
    const auto deadline = steady_clock::now() + std::chrono::seconds(60);
    while (steady_clock::now() < deadline) {
      if (has(screen_.substr(std::min(screen_.size(), screen_.rfind("\x1b[2J"))), text)) {
        return true;
      }
      pollfd output = {terminal_, POLLIN, 0};
      char piece[4096];
      const ssize_t length = poll(&output, 1, 1000) > 0 ? read(terminal_, piece, sizeof piece) : 0;
      screen_.append(piece, static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
      if (length < 0) {
        return has(screen_, text);
      }
    }
    MESSAGE(screen_);
    return false;
  }

  void press(char key) { REQUIRE(write(terminal_, &key, 1) == 1); }

  bool is_raw() const {
    termios now = {};
    REQUIRE(tcgetattr(terminal_, &now) == 0);
    return (now.c_lflag & (ICANON | ECHO)) == 0;
  }

  // Its exit code.
  int wait() {
    int status = 0;
    REQUIRE(waitpid(pid_, &status, 0) == pid_);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t pid_ = -1;
  int terminal_ = -1;
  std::string screen_;
};

const char* const kWrong = "int answer() { return 41; }\n";
const char* const kRight = "int answer() { return 42; }\n";

}  // namespace

TEST_CASE("not on a terminal, verdicts follow one another until Ctrl-C") {
  const Workbook workbook;
  write_file(workbook.exercise("first"), kWrong);
  const auto outcome = workbook.onepass(fmt::format(
      "watch first & pid=$!; sleep 3; echo '{}' > {}; sleep 3; kill -INT $pid; wait $pid", kRight,
      workbook.exercise("first").string()));
  CHECK(outcome.code == 130);
  const std::string& output = outcome.output;
  CHECK(has(output, "Grading toy/first ... Ctrl-C ends this.\n"));
  CHECK(has(output, "toy/first    3 of 5   failed"));
  CHECK(has(output, "Waiting for exercises/01_toy/first.cu to be saved. Ctrl-C ends this.\n"));
  CHECK(output.find("toy/first    5 of 5   passed") > output.find("toy/first    3 of 5   failed"));
  CHECK(has(output, "Interrupted: nothing is watched any more.\n"));
  CHECK_FALSE(has(output, "\x1b["));
}

TEST_CASE("on a terminal: what is saved is graded, and keys are obeyed") {
  const Workbook workbook;
  write_file(workbook.root() / "docs/toy.md",
             "## First\n<details><summary>Hint 1: how?</summary>\n\nThink.\n\n</details>\n");
  write_file(workbook.exercise("first"), kWrong);
  write_file(workbook.exercise("second"), kWrong);
  Terminal terminal(workbook, "watch");
  CHECK(terminal.shows("It answers 41."));
  CHECK(terminal.shows("Waiting for an exercise to be saved."));
  CHECK(terminal.is_raw());
  terminal.press('h');
  CHECK(terminal.shows("hint 1 of 1: how?"));
  CHECK(terminal.shows("It answers 41."));  // the verdict stays
  terminal.press('l');
  CHECK(terminal.shows("Score: 3 of 9"));
  write_file(workbook.exercise("first"), kRight);
  CHECK(terminal.shows("Next: 1.2 toy/second"));
  CHECK(terminal.shows("Waiting for"));
  terminal.press('n');
  CHECK(terminal.shows("toy/second    0 of 4"));
  CHECK(terminal.shows("Waiting for"));
  terminal.press('a');
  CHECK(terminal.shows("It answers 41."));
  terminal.press('q');
  CHECK(terminal.wait() == 0);
  CHECK_FALSE(terminal.is_raw());
}

TEST_CASE(
    "a save ends the grading that is going on, and so does Ctrl-C; the terminal is as before") {
  const Workbook workbook;
  workbook.set_grader("sleep 600\n");
  write_file(workbook.exercise("first"), kWrong);
  Terminal terminal(workbook, "watch first");
  CHECK(terminal.shows("Grading toy/first ..."));
  workbook.set_measuring(Workbook::kEnd);
  write_file(workbook.exercise("first"), std::string(kWrong) + "//\n");
  CHECK(terminal.shows("It answers 41."));
  CHECK(terminal.shows("Waiting for"));
  workbook.set_grader("sleep 600\n");
  terminal.press('g');
  CHECK(terminal.shows("Grading toy/first ..."));
  CHECK(terminal.shows("It answers 41."));  // until there is another verdict
  terminal.press('\x03');
  CHECK(terminal.shows("Interrupted: nothing is watched any more."));
  CHECK(terminal.wait() == 130);
  CHECK_FALSE(terminal.is_raw());
}

TEST_CASE("on a narrow terminal lines are broken between words") {
  const Workbook workbook;
  write_file(workbook.exercise("first"), kWrong);
  Terminal terminal(workbook, "watch first", 40);
  CHECK(terminal.shows("Waiting for exercises/01_toy/first.cu to\r\n  be saved.\r\n"));
  CHECK(terminal.shows("[h]int [n]ext [l]ist [a]ll failures\r\n  [g]rade again [q]uit\r\n"));
}
