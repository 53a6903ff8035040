#include "tests/corpus/aftermath.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <stdexcept>
#include <thread>

#include "process/process_tree.h"

namespace onepass::corpus {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr milliseconds kLook(20);
constexpr int kLooks = 150;  // some seconds: what was killed may take a moment to go

void reap_ended() {
  while (waitpid(-1, nullptr, WNOHANG) > 0) {
  }
}

}  // namespace

int run_as_a_shell(const std::vector<std::string>& command, const fs::path& output, int seconds) {
  std::vector<std::string> words = {"timeout", "-k", "5", fmt::format("{}", seconds)};
  words.insert(words.end(), command.begin(), command.end());
  std::vector<char*> arguments;
  for (std::string& word : words) {
    arguments.push_back(word.data());
  }
  arguments.push_back(nullptr);
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, "timeout", &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    throw std::runtime_error("timeout cannot be started");
  }
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int count_leftovers() {
  for (int look = 0; look < kLooks; ++look) {
    reap_ended();
    if (process::children().empty()) {
      return 0;
    }
    std::this_thread::sleep_for(kLook);
  }
  const int left = static_cast<int>(process::children().size());
  process::kill_children_except({});
  return left;
}

Files files_below(const fs::path& folder) {
  Files all;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    const bool is_file = entry.is_regular_file() && !entry.is_symlink();
    all[entry.path().string()] = {static_cast<unsigned>(entry.symlink_status().permissions()),
                                  is_file ? entry.file_size() : 0,
                                  is_file ? entry.last_write_time() : fs::file_time_type()};
  }
  return all;
}

Files files_of_workbook(const fs::path& repository) {
  Files all;
  for (const char* folder : {"docs", "exercises", "grader", "solutions"}) {
    all.merge(files_below(repository / folder));
  }
  return all;
}

std::string difference(const Files& before, const Files& after) {
  std::string text;
  for (const auto& [path, facts] : before) {
    const auto found = after.find(path);
    if (found == after.end()) {
      text += "removed: " + path + "\n";
    } else if (found->second != facts) {
      text += "changed: " + path + "\n";
    }
  }
  for (const auto& [path, facts] : after) {
    text += before.count(path) == 0 ? "added: " + path + "\n" : "";
  }
  return text;
}

}  // namespace onepass::corpus
