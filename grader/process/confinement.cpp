#include "process/confinement.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <system_error>

namespace onepass::process {
namespace {

constexpr std::size_t kPage = 4096;

std::size_t bytes_of(const std::vector<std::string>& command) {
  std::size_t bytes = 0;
  for (const std::string& word : command) {
    bytes += word.size() + 1;
  }
  return bytes;
}

/// "NAME=value" by the name or the beginning of one, "CUDA_*".
bool is_named(std::string_view variable, std::string_view name) {
  const bool is_beginning = name.back() == '*';
  name.remove_suffix(is_beginning ? 1 : 0);
  return variable.substr(0, name.size()) == name &&
         (is_beginning || variable.substr(name.size(), 1) == "=");
}

/// Of processor time, a program is told of the end a second before it comes.
int limit(int resource, rlim_t most) {
  const auto which = static_cast<__rlimit_resource>(resource);
  rlimit current{};
  if (getrlimit(which, &current) != 0) {
    return errno;
  }
  current.rlim_max = std::min(current.rlim_max, most + (resource == RLIMIT_CPU ? 1 : 0));
  current.rlim_cur = std::min({current.rlim_cur, current.rlim_max, most});
  return setrlimit(which, &current) == 0 ? 0 : errno;
}

/// "Take me first when memory runs out."
void volunteer_for_out_of_memory() {
  const int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file >= 0) {
    [[maybe_unused]] const ssize_t written = write(file, "1000", 4);
    close(file);
  }
}

/// Root, but for its name. Files that root alone may read stay readable: Landlock says which.
void drop_privileges() {
  for (int right = 0; right <= CAP_LAST_CAP + 16; ++right) {  // newer kernels have more
    if (right != CAP_DAC_READ_SEARCH) {
      prctl(PR_CAPBSET_DROP, right, 0, 0, 0);  // others than root have none to drop
    }
  }
}

}  // namespace

Hidden::Hidden(std::size_t bytes) : bytes_((bytes + kPage - 1) / kPage * kPage) {
  constexpr int kAttempts = 100;  // something may be there already
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    std::uintptr_t place = 0;
    if (getrandom(&place, sizeof place, 0) != sizeof place) {
      break;
    }
    place = place >> (18 + attempt / 10) & ~(kPage - 1);  // a process has 46 bits, or some less
    memory_ = mmap(reinterpret_cast<void*>(place), bytes_, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (memory_ == reinterpret_cast<void*>(place)) {
      return;
    }
    if (memory_ != MAP_FAILED) {
      munmap(memory_, bytes_);
    }
  }
  throw std::system_error(ENOMEM, std::generic_category(), "No memory for a command");
}

Hidden::~Hidden() {
  munmap(memory_, bytes_);
}

std::vector<std::string> paths_in(const char* variable) {
  const char* const value = std::getenv(variable);
  std::istringstream all(value == nullptr ? "" : value);
  std::vector<std::string> paths;
  for (std::string path; std::getline(all, path, ':');) {
    if (!path.empty() && path.front() == '/') {
      paths.push_back(path);
    }
  }
  return paths;
}

std::string program_on_path(const std::string& name) {
  for (const std::string& folder : paths_in("PATH")) {
    const std::string program = folder + "/" + name;
    if (access(program.c_str(), X_OK) == 0) {
      return program;
    }
  }
  return "";
}

bool keeps(const Allowance& allowance, std::string_view variable) {
  return std::any_of(allowance.variables.begin(), allowance.variables.end(),
                     [&](const std::string& name) { return is_named(variable, name); });
}

Layers layers() {
  return {landlock_version(), can_filter_system_calls()};
}

std::vector<std::string> gaps(const Layers& layers) {
  std::vector<std::string> all;
  if (layers.landlock == 0) {
    all.push_back(
        "Landlock is not in force (it needs Linux 5.13, switched on, and a container that allows "
        "it): a submission can read and write the files that you can.");
  }
  if (!layers.system_calls) {
    all.push_back(
        "System calls are not filtered (that needs libseccomp and libbacktrace where the grader is "
        "built, and a container that allows it): a submission can start and stop programs, use the "
        "network, and change the rights of your files.");
  }
  return all;
}

void shield_this_process() {
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

Confinement::Confinement(const Allowance& allowance, const std::vector<std::string>& command)
    : limits_(allowance.limits),
      own_proc_(allowance.own_proc),
      text_(bytes_of(command)),
      words_((command.size() + 1) * sizeof(char*)),
      landlock_(allowance.paths),
      filter_(allowance.calls, text_.memory(), words_.memory()) {
  char* text = static_cast<char*>(text_.memory());
  for (std::size_t i = 0; i < command.size(); ++i) {
    words()[i] = text;
    text = stpcpy(text, command[i].c_str()) + 1;
  }
}

int Confinement::enter() {
  prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);  // its own part of /proc is its own again
  for (const auto& [resource, most] : limits_) {
    if (const int error = limit(resource, most)) {
      return error;
    }
  }
  volunteer_for_out_of_memory();
  drop_privileges();
  const int error = landlock_.enter(own_proc_);
  return error != 0 ? error : filter_.enter();
}

}  // namespace onepass::process
