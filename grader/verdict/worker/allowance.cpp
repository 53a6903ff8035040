#include "verdict/worker/allowance.h"

#include <link.h>
#include <sys/mman.h>

#include <filesystem>
#include <string_view>

#include "process/process.h"

namespace onepass::verdict {
namespace {

namespace fs = std::filesystem;
namespace right = process::right;
using process::Allowance;

constexpr rlim_t kOpenFiles = 256;

constexpr std::size_t kSimulatedAddresses = std::size_t{17} << 40;
constexpr std::size_t kShadows = std::size_t{160} << 30;  // the most that the solutions reserve

bool can_reserve(std::size_t bytes, int protection) {
  void* const place =
      mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return place != MAP_FAILED && munmap(place, bytes) == 0;
}

void allow(Allowance& allowance, const std::string& path, unsigned rights) {
  allowance.paths.push_back({path, rights});
}

/// The libraries of this program, which the same compiler made, their folders among them. The
/// loader, which is one of them, is executed by whoever becomes a program.
int allow_library(dl_phdr_info* info, std::size_t, void* allowance) {
  const fs::path file = info->dlpi_name;
  if (file.is_absolute()) {
    allow(*static_cast<Allowance*>(allowance), file, right::read | right::execute);
    allow(*static_cast<Allowance*>(allowance), file.parent_path(), right::read);
  }
  return 0;
}

void allow_libraries(Allowance& allowance) {
  for (const char* folder :
       {"/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/nix/store", "/gnu/store",
        "/etc/ld.so.cache", "/etc/ld.so.preload", ONEPASS_WORKER_LIBRARIES}) {
    allow(allowance, folder, right::read);
  }
  dl_iterate_phdr(allow_library, &allowance);
  for (const std::string& folder : process::paths_in("LD_LIBRARY_PATH")) {
    allow(allowance, folder, right::read);
  }
  allowance.variables.push_back("LD_LIBRARY_PATH");
}

#ifdef ONEPASS_WORKER_ASKS_ADDR2LINE
/// The simulator's worker asks it, by way of a shell, where libbacktrace is missing.
void allow_addr2line(Allowance& allowance) {
  allowance.calls = process::SystemCalls::any;
  allowance.variables.push_back("PATH");
  for (const char* folder : {"/bin", "/usr/bin", "/usr/lib", "/lib", "/lib64"}) {
    allow(allowance, folder, right::read | right::execute);
  }
}
#endif

/// The nodes of NVIDIA's driver: nvidia0, nvidiactl, nvidia-uvm, nvidia-caps/, ...; WSL's, Tegra's.
bool is_of_gpu(std::string_view device) {
  for (const std::string_view beginning : {"nvidia", "dxg", "nvhost", "nvmap", "nvgpu"}) {
    if (device.substr(0, beginning.size()) == beginning) {
      return true;
    }
  }
  return false;
}

/// What CUDA's driver opens on an H200 (driver 580), and on other machines according to reports of
/// sandboxes: its devices, to read and write them and for ioctl(); what the kernel tells of machine
/// and driver; the names of its threads below /proc/self/task, to write them.
void allow_gpu(Allowance& allowance) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/dev", ignored)) {
    if (is_of_gpu(entry.path().filename().string())) {
      allow(allowance, entry.path(), right::read | right::list | right::modify | right::control);
    }
  }
  for (const auto& entry : fs::directory_iterator("/usr/local", ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.rfind("cuda", 0) == 0 || name.rfind("nvidia", 0) == 0) {
      allow(allowance, entry.path(), right::read);
    }
  }
  for (const char* path :
       {"/sys", "/proc/driver", "/proc/devices", "/proc/modules", "/proc/cpuinfo", "/proc/meminfo",
        "/proc/stat", "/proc/version", "/proc/filesystems", "/proc/sys/kernel", "/proc/sys/vm",
        "/etc/nvidia", "/usr/share/nvidia", "/opt/cuda", "/opt/nvidia", "/run/nvidia",
        "/run/opengl-driver"}) {
    allow(allowance, path, right::read | right::list);
  }
  allow(allowance, "/dev", right::list);
  allow(allowance, "/proc", right::list);
  allowance.own_proc = right::read | right::list | right::modify;
  allowance.calls = process::SystemCalls::of_a_gpu_driver;
  allowance.variables.insert(allowance.variables.end(), {"CUDA_*", "NVIDIA_*"});
}

}  // namespace

std::string obstacle_to(const std::string& device) {
  const bool possible = device == "gpu" || (can_reserve(kSimulatedAddresses, PROT_NONE) &&
                                            can_reserve(kShadows, PROT_READ | PROT_WRITE));
  return possible
             ? ""
             : "The simulator needs 16 TiB of addresses, not of memory, which this system does "
               "not give: a limit may be set (ulimit -v, ulimit -d), or memory may not be "
               "overcommitted (sysctl vm.overcommit_memory).";
}

std::string prepare_gpu() {
  constexpr const char* kShared = "/dev/nvidia-uvm";
  constexpr const char* kModprobe = "nvidia-modprobe";
  constexpr double kSeconds = 20.0;
  std::error_code ignored;
  if (fs::exists(kShared, ignored) || !fs::exists("/dev/nvidiactl", ignored)) {
    return "";
  }
  process::run({{kModprobe, "-u", "-c", "0"}}, kSeconds);
  return fs::exists(kShared, ignored)
             ? ""
             : " /dev/nvidia-uvm is missing: run nvidia-modprobe -u -c 0 as root.";
}

std::string loader() {
  std::string path;
  const auto look = [](dl_phdr_info* program, std::size_t, void* found) {
    for (int i = 0; i < program->dlpi_phnum; ++i) {
      if (const auto& part = program->dlpi_phdr[i]; part.p_type == PT_INTERP) {
        *static_cast<std::string*>(found) =
            reinterpret_cast<const char*>(program->dlpi_addr + part.p_vaddr);
      }
    }
    return 1;  // the libraries come after it
  };
  dl_iterate_phdr(look, &path);
  return path;
}

Allowance allowance_of(const std::string& worker, const std::string& device) {
  Allowance allowance;
  allowance.limits = {{RLIMIT_CORE, 0},
                      {RLIMIT_CPU, static_cast<rlim_t>(kCpuSeconds)},
                      {RLIMIT_FSIZE, 0},
                      {RLIMIT_NOFILE, kOpenFiles}};
  allow(allowance, worker, right::read | right::execute);
  allow(allowance, "/dev/null", right::read | right::modify);
  for (const char* source : {"/dev/zero", "/dev/urandom", "/dev/random"}) {
    allow(allowance, source, right::read);
  }
  allow_libraries(allowance);
  if (device == "gpu") {
    allow_gpu(allowance);
  }
#ifdef ONEPASS_WORKER_ASKS_ADDR2LINE
  if (device == "cpu") {
    allow_addr2line(allowance);
  }
#endif
  return allowance;
}

}  // namespace onepass::verdict
