#include "process/process_tree.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace onepass::process {
namespace {

constexpr int kRounds = 100;
constexpr std::chrono::seconds kTimeToGo(1);

struct Stat {
  char state = 0;
  pid_t parent = 0;
  pid_t session = 0;
};

/// From /proc/<pid>/stat: "pid (name) state parent group session ...". The name may hold anything.
Stat stat_of(const std::filesystem::path& folder) {
  std::ifstream file(folder / "stat");
  std::string text;
  std::getline(file, text);
  const std::size_t end_of_name = text.rfind(')');
  Stat stat;
  if (end_of_name != std::string::npos) {
    std::istringstream fields(text.substr(end_of_name + 1));
    pid_t group = 0;
    fields >> stat.state >> stat.parent >> group >> stat.session;
  }
  return stat;
}

template <typename Visit>
void for_each_process(Visit visit) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename();
    if (std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; })) {
      visit(static_cast<pid_t>(std::stol(name)), stat_of(entry.path()));
    }
  }
}

}  // namespace

long tasks_on_machine() {
  // "0.20 0.18 0.12 1/80 11206": running / all, after the three averages
  std::ifstream file("/proc/loadavg");
  std::string average;
  long running = 0;
  char slash = 0;
  long all = 0;
  file >> average >> average >> average >> running >> slash >> all;
  return all;
}

long processes_in_session(pid_t leader) {
  long count = 0;
  for_each_process([&](pid_t, const Stat& stat) { count += stat.session == leader ? 1 : 0; });
  return count;
}

void kill_session(pid_t leader) {
  bool found = true;
  for (int round = 0; found && round < kRounds; ++round) {
    found = false;
    for_each_process([&](pid_t pid, const Stat& stat) {
      if (stat.session == leader && stat.state != 'Z') {
        kill(pid, SIGKILL);
        found = true;
      }
    });
    usleep(1000);
  }
}

Usage usage_of(pid_t pid) {
  // "VmRSS:	    1234 kB"
  std::ifstream file(std::filesystem::path("/proc") / std::to_string(pid) / "status");
  Usage usage;
  std::uint64_t kilobytes = 0;
  std::string key;
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    fields >> key;
    if (key == "Threads:") {
      fields >> usage.threads;
    } else if ((key == "VmRSS:" || key == "VmPTE:" || key == "VmSwap:") && fields >> kilobytes) {
      usage.memory += kilobytes << 10;
    }
  }
  return usage;
}

std::vector<pid_t> children() {
  std::vector<pid_t> found;
  for_each_process([&](pid_t pid, const Stat& stat) {
    if (stat.parent == getpid()) {
      found.push_back(pid);
    }
  });
  return found;
}

void kill_children_except(const std::vector<pid_t>& spared) {
  // A child may fork between our look and its death, so look again until there are none. One that
  // hangs in the kernel is left to it.
  const auto deadline = std::chrono::steady_clock::now() + kTimeToGo;
  while (std::chrono::steady_clock::now() < deadline) {
    std::vector<pid_t> found = children();
    std::erase_if(found, [&](pid_t child) {
      return std::find(spared.begin(), spared.end(), child) != spared.end();
    });
    if (found.empty()) {
      return;
    }
    for (const pid_t child : found) {
      kill(child, SIGKILL);
    }
    while (!found.empty() && std::chrono::steady_clock::now() < deadline) {
      std::erase_if(found, [](pid_t child) { return waitpid(child, nullptr, WNOHANG) != 0; });
      usleep(found.empty() ? 0 : 1000);
    }
  }
}

}  // namespace onepass::process
