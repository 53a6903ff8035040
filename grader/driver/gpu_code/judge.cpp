#include "driver/gpu_code/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

#include "driver/text.h"

namespace onepass::driver {
namespace {

struct Shape {
  std::uint64_t threads, dynamic_shared_bytes;

  bool operator<(const Shape& other) const {
    return std::pair(threads, dynamic_shared_bytes) <
           std::pair(other.threads, other.dynamic_shared_bytes);
  }
};

Shape shape_of(const Json& launch) {
  return {launch.at("threads").get<std::uint64_t>(),
          launch.at("dynamic_shared_bytes").get<std::uint64_t>()};
}

bool is_of(const Json& launch, const KernelResources& kernel) {
  return same_name(text(launch, "function")) == kernel.function;
}

bool is_refused(const KernelResources& kernel, const Json& launch) {
  const std::uint64_t threads = shape_of(launch).threads;
  return blocks_at_once(kernel.registers, threads, 0) == 0 && blocks_at_once(0, threads, 0) > 0;
}

std::string why_refused(const KernelResources& kernel, std::uint64_t threads) {
  const int most = most_registers(threads);
  return fmt::format(
      "A GPU does not start this kernel: too many resources requested for launch. nvcc gives each "
      "thread of {} {} registers ({}), and in a block of {} threads each can have {}. Launch fewer "
      "threads a block, or write __launch_bounds__({}) before the kernel's name: then nvcc keeps "
      "to {}.",
      short_name(kernel.function), kernel.registers, kArchitecture, threads, most, threads, most);
}

std::string why_no_spills(const KernelResources& kernel) {
  return fmt::format(
      "The result is right, and asks for little, as far as the simulator sees. But nvcc gives each "
      "thread of {} {} registers ({}), which do not hold what it keeps: {} bytes a thread are "
      "stored to local memory, which is device memory by another name, and {} loaded. No spills "
      "are "
      "wanted for this point. The next step: keep less in a thread, by more threads or shared "
      "memory for a row; or let it have more registers, by fewer threads in __launch_bounds__.",
      short_name(kernel.function), kernel.registers, kArchitecture, kernel.spill_store_bytes,
      kernel.spill_load_bytes);
}

// "exercises/01_rmsnorm/forward.cu:52": where the kernel is launched by the name that the launch
// has; empty unless there is one such place.
std::string place_of(const Json& launch, const std::string& source, const std::string& file) {
  const std::string written = text(launch, "written");
  std::set<std::ptrdiff_t> lines;
  for (std::size_t at = source.find(written); at != std::string::npos && !written.empty();
       at = source.find(written, at + 1)) {
    const std::size_t next = source.find_first_not_of(" \t\r\n", at + written.size());
    const auto before = static_cast<unsigned char>(at == 0 ? ' ' : source[at - 1]);
    if (next != std::string::npos && source.compare(next, 3, "<<<") == 0 &&
        std::isalnum(before) == 0 && before != '_') {
      lines.insert(
          1 + std::count(source.begin(), source.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
    }
  }
  return lines.size() == 1 ? fmt::format("{}:{}", file, *lines.begin()) : "";
}

// Of what is refused, neither traffic nor time means anything.
void note_refusal(Json& exercise, const char* status) {
  exercise["gpu_code"]["refused"] = status;
  exercise["traffic"] = exercise["bandwidth"] = Json::array();
}

}  // namespace

Json describe_gpu_code(const std::vector<KernelResources>& kernels, const Launches& launches) {
  Json described = Json::array();
  for (const KernelResources& kernel : kernels) {
    std::set<Shape> shapes;
    for (const auto& [check, of_check] : launches) {
      for (const Json& launch : of_check) {
        if (is_of(launch, kernel)) {
          shapes.insert(shape_of(launch));
        }
      }
    }
    Json ways = Json::array();
    for (const auto& [threads, dynamic] : shapes) {
      const std::uint64_t shared = static_cast<std::uint64_t>(kernel.shared_bytes) + dynamic;
      ways.push_back({{"threads", threads},
                      {"dynamic_shared_bytes", dynamic},
                      {"blocks", blocks_at_once(kernel.registers, threads, shared)},
                      {"blocks_but_for_registers", blocks_at_once(0, threads, shared)}});
    }
    described.push_back({{"kernel", short_name(kernel.function)},
                         {"registers", kernel.registers},
                         {"spill_store_bytes", kernel.spill_store_bytes},
                         {"spill_load_bytes", kernel.spill_load_bytes},
                         {"local_bytes", kernel.local_bytes},
                         {"shared_bytes", kernel.shared_bytes},
                         {"launches", std::move(ways)}});
  }
  return {{"architecture", kArchitecture}, {"refused", nullptr}, {"kernels", std::move(described)}};
}

void refuse_launches(Json& exercise, const std::vector<KernelResources>& kernels,
                     const Launches& launches, const std::string& source) {
  for (Json& check : exercise["checks"]) {
    const auto of_check = launches.find(text(check, "name"));
    if (check["status"] != "passed" || of_check == launches.end()) {
      continue;
    }
    for (const Json& launch : of_check->second) {
      const auto kernel =
          std::find_if(kernels.begin(), kernels.end(), [&](const KernelResources& one) {
            return is_of(launch, one) && is_refused(one, launch);
          });
      if (kernel == kernels.end()) {
        continue;
      }
      const std::string place = place_of(launch, source, text(exercise, "file"));
      check.update({{"status", "launch error"},
                    {"message", why_refused(*kernel, shape_of(launch).threads)},
                    {"diagnosis", "launch-failed"},
                    {"location", place.empty() ? Json(nullptr) : Json(place)}});
      note_refusal(exercise, "launch error");
      break;
    }
  }
}

void refuse_spills(Json& exercise, const std::vector<KernelResources>& kernels,
                   const Launches& launches) {
  for (Json& check : exercise["checks"]) {
    const auto of_check = launches.find(text(check, "name"));
    if (check["status"] != "passed" || of_check == launches.end()) {
      continue;
    }
    for (const KernelResources& kernel : kernels) {
      const Json& all = of_check->second;
      const bool may = std::none_of(all.begin(), all.end(), [&](const Json& launch) {
        return !launch.value("may_spill", true) && is_of(launch, kernel);
      });
      if (!may && kernel.spill_store_bytes + kernel.spill_load_bytes > 0) {
        check.update({{"status", "failed"},
                      {"message", why_no_spills(kernel)},
                      {"diagnosis", "slower-than-a-copy"},
                      {"is_right", true}});
        exercise["gpu_code"]["refused"] = "failed";
        break;
      }
    }
  }
}

void refuse_file(Json& exercise, const CompileError& error) {
  set_all_checks(
      exercise, "compile error",
      fmt::format("{} (Only nvcc says so, which compiles it for a GPU as well.)", error.message),
      error.location);
  exercise["gpu_code"] = {{"architecture", kArchitecture}, {"kernels", Json::array()}};
  note_refusal(exercise, "compile error");
}

bool is_refused_by_gpu(const Json& exercise) {
  return !text(exercise.value("gpu_code", Json::object()), "refused").empty();
}

}  // namespace onepass::driver
