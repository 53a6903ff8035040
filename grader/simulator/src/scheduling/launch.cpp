// A launch: is its shape one that the device accepts, then run it and keep what it moved.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "device_limits.h"
#include "occupancy.h"
#include "scheduling/scheduler.h"
#include "scheduling/stopping.h"
#include "source/elf_symbols.h"
#include "source/source_lines.h"

namespace simulator {
namespace {

Dim3 dim3(const uint3& shape) {
  return {shape.x, shape.y, shape.z};
}

/// "void onepass::k<float, 4>(float*)" -> "k<float, 4>", "onepass::k(float*)" -> "k(float*)"
std::string short_name(const KernelNames& kernel) {
  const std::string& name = kernel.instance;
  const std::size_t arguments = name.find(kernel.own + '<');
  const std::size_t begin = std::min(arguments, name.find(kernel.own + '('));
  if (begin == std::string::npos) return kernel.own;
  const std::size_t end = begin == arguments ? name.rfind(">(") : std::string::npos;
  return name.substr(begin, end == std::string::npos ? end : end + 1 - begin);
}

/// That the launch asks for more dynamic shared memory than was allowed; empty if it does not.
std::string more_than_allowed(const KernelNames& kernel, std::size_t asked,
                              const KernelAttributes& attributes) {
  const std::size_t allowed = attributes.allowed_dynamic_shared(kernel);
  if (asked <= allowed) return "";
  const KernelNames* other = attributes.another_with_more(kernel);
  return "The launch asks for " + std::to_string(asked) +
         " bytes of dynamic shared memory. More than " + std::to_string(allowed) +
         " must be allowed first: cudaFuncSetAttribute(kernel, " +
         "cudaFuncAttributeMaxDynamicSharedMemorySize, bytes)." +
         (other == nullptr ? ""
                           : " More was allowed to " + short_name(*other) + ", and this is " +
                                 short_name(kernel) + ": each is a kernel of its own.");
}

/// What is wrong with the shape, in a sentence; empty if nothing is.
std::string complaint(const KernelNames& kernel, const LaunchShape& shape,
                      const KernelAttributes& attributes) {
  using namespace limits;
  const uint3& grid = shape.grid;
  const uint3& block = shape.block;
  if (grid.x == 0 || grid.y == 0 || grid.z == 0) {
    return "The grid is " + shape_text(grid) + ": a launch of no blocks is an error.";
  }
  if (grid.x > kGridX || grid.y > kGridY || grid.z > kGridZ) {
    return "The grid is " + shape_text(grid) +
           ": from 1 to 2147483647 x 65535 x 65535 blocks can be " + "launched.";
  }
  const std::size_t threads = std::size_t{block.x} * block.y * block.z;
  if (threads == 0) {
    return "The block is " + shape_text(block) + ": it has no threads.";
  }
  if (block.x > kBlockX || block.y > kBlockY || block.z > kBlockZ || threads > kThreadsPerBlock) {
    return "The block is " + shape_text(block) + ": it may have 1024 threads, and 64 in z.";
  }
  const std::size_t shared = shape.dynamic_shared_bytes;
  const std::size_t most = machine().generation->shared_of_block;
  if (shared > most) {
    return "The launch asks for " + std::to_string(shared) +
           " bytes of dynamic shared memory: a block can have " + std::to_string(most) + '.';
  }
  return more_than_allowed(kernel, shared, attributes);
}

/// What a cooperative launch asks beyond that: all blocks at one time.
std::string too_large(const KernelNames& kernel, const LaunchShape& shape,
                      const SharedMemory& memory) {
  const std::uint64_t threads = volume(shape.block);
  const std::size_t shared = shape.dynamic_shared_bytes + memory.static_bytes_of(kernel);
  const auto fit =
      static_cast<std::uint64_t>(blocks_at_once(0, threads, shared, *machine().generation));
  const std::uint64_t blocks = volume(shape.grid);
  const int multiprocessors = machine().multiprocessors;
  if (blocks <= fit * static_cast<std::uint64_t>(multiprocessors)) return "";
  return "The cooperative launch has " + std::to_string(blocks) +
         " blocks: all must be there at one time, and of " + std::to_string(threads) +
         " threads and " + std::to_string(shared) + " bytes of shared memory the device holds " +
         std::to_string(fit) + " on each of its " + std::to_string(multiprocessors) +
         " multiprocessors, as cudaOccupancyMaxActiveBlocksPerMultiprocessor() says "
         "(cudaErrorCooperativeLaunchTooLarge).";
}

void refuse(Machine& machine, const char* kernel, const std::string& message, ErrorCode error,
            std::vector<Party> parties = {}) {
  machine.findings.add(Kind::invalid_launch, kernel, message, std::move(parties));
  machine.errors.note(error);
}

bool is_sampled(const Machine& machine, const LaunchShape& shape) {
  return ChosenBlocks(machine.blocks, shape.grid, shape.block, shape.is_cooperative).is_sample();
}

std::uint64_t run(Launch& launch, std::uint64_t first, Share share) {
  Machine& machine = launch.machine;
  machine.findings.begin_launch();
  running_launch = &launch;
  std::uint64_t next = 0;
  {
    const Watchdog watchdog(machine.time_limit);
    next = Scheduler(launch).run(first, share);
    launch.checkers.tell(LaunchEnd{});
    launch.undefined_results.report(launch.begin, machine.memory.device, machine.findings);
  }
  running_launch = nullptr;
  machine.findings.end_launch();
  return next;
}

void keep_traffic(Launch& launch, const LaunchShape& shape) {
  Machine& machine = launch.machine;
  LaunchTraffic traffic;
  traffic.kernel = launch.begin.kernel;
  traffic.grid = dim3(launch.begin.grid);
  traffic.block = dim3(launch.begin.block);
  traffic.function = launch.inside == 0 ? "" : function_name(launch.inside);
  traffic.dynamic_shared_bytes = shape.dynamic_shared_bytes;
  traffic.in_clusters = launch.begin.has_clusters();
  traffic.is_cooperative = shape.is_cooperative;
  machine.trace.emplace_back();
  launch.checkers.finish(traffic, machine.trace.back());
  for (LineTraffic& line : traffic.lines) {
    if (!line.caller_file.empty()) continue;
    const SourceLine caller = students_line({line.file, line.line}, *launch.begin.host_calls);
    line.caller_file = caller.file;
    line.called_from = caller.line;
  }
  machine.traffic.push_back(std::move(traffic));
}

/// What was asked for, and where.
struct Order {
  LaunchedKernel kernel;
  LaunchShape shape;
  void (*body)(void*);
  CodeAddress site;
  std::shared_ptr<const std::vector<CodeAddress>> host_calls;
};

/// Which kernel ran: its call has decided it by now.
KernelNames names_of(const Launch& launch) {
  const KernelNames known = kernel_names(launch.begin.launched());
  const KernelNames ran = kernel_names(launch.inside);
  return known.instance.empty() && ran.own == known.own ? ran : known;
}

/// What a GPU would have known of the kernel before, the shared memory of its block.
void refuse_in_hindsight(const Launch& launch, const Order& order) {
  Machine& device = launch.machine;
  const char* kernel = order.kernel.written;
  const std::size_t asked = order.shape.dynamic_shared_bytes;
  const std::size_t used = device.memory.shared.static_bytes_used();
  const KernelNames names = names_of(launch);
  const std::size_t allowed =
      device.attributes.allowed_shared(names, device.generation->shared_of_block);
  const std::string more = more_than_allowed(names, asked, device.attributes);
  if (!more.empty()) {
    refuse(device, kernel, more, kErrorInvalidConfiguration, {host_party(order.site, "launches")});
  } else if (used > limits::kSharedPerBlock) {
    refuse(device, kernel,
           "The kernel's __shared__ arrays have " + std::to_string(used) + " bytes: nvcc allows " +
               std::to_string(limits::kSharedPerBlock) +
               ", and more only as dynamic shared memory (extern __shared__).",
           kErrorInvalidConfiguration);
  } else if (used + asked > allowed) {
    refuse(device, kernel,
           "The kernel's __shared__ arrays have " + std::to_string(used) +
               " bytes, and the launch asks for " + std::to_string(asked) +
               " more: a block can have " + std::to_string(allowed) +
               (allowed < device.generation->shared_of_block
                    ? " unless more dynamic shared memory is allowed first: "
                      "cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, "
                      "bytes)."
                    : "."),
           kErrorInvalidConfiguration, {party(launch.begin, 0, 0, launch.inside, "uses them")});
  }
}

std::uint64_t run(const Order& order, void* arguments, std::size_t argument_bytes,
                  std::uint64_t first, Share share);

/// The first thread of the kernel has come to its __cluster_dims__, which a launch does not know
/// before: nothing has happened yet, and it begins anew.
std::uint64_t run_in_clusters(const Launch& launch, Order order, void* arguments,
                              std::size_t argument_bytes, std::uint64_t first, Share share) {
  Machine& device = launch.machine;
  const uint3 wanted = launch.cluster_wanted;
  std::string wrong;
  if (volume(order.shape.cluster) > 0) {
    wrong = "The launch asks for clusters of " + shape_text(order.shape.cluster) +
            " blocks, and the kernel's __cluster_dims__ are " + shape_text(wanted) + '.';
  } else {
    order.shape.cluster = wanted;
    wrong = cluster_complaint(order.shape.grid, order.shape.cluster,
                              device.attributes.allows_large_clusters(names_of(launch)),
                              device.generation->has_clusters);
  }
  if (wrong.empty()) return run(order, arguments, argument_bytes, first, share);
  refuse(device, order.kernel.written, wrong, kErrorInvalidClusterSize);
  return volume(order.shape.grid);
}

/// Runs blocks of the launch from the one whose turn is `first` on; returns whose turn is next.
std::uint64_t run(const Order& order, void* arguments, std::size_t argument_bytes,
                  std::uint64_t first, Share share) {
  Machine& device = machine();
  if (device.errors.sticky() != kSuccess) return first;
  const InReach in_reach(device.memory.device);
  const DeviceValues values(device.memory.variables);
  device.memory.shared.prepare(order.shape.dynamic_shared_bytes);
  // What lies between rows far apart nobody has filled.
  if (device.access_limit > 0) device.settings.wanted.initialised = false;
  Launch launch(order.kernel, order.shape, order.body, arguments, argument_bytes, order.host_calls,
                device);
  const std::uint64_t next = run(launch, first, share);
  if (volume(launch.cluster_wanted) > 0) {
    return run_in_clusters(launch, order, arguments, argument_bytes, first, share);
  }
  launch.checkers.keep_for_next();
  keep_traffic(launch, order.shape);
  // Blocks that did not run may have been meant to write what the next launch reads.
  if (is_sampled(device, order.shape)) device.settings.wanted.initialised = false;
  refuse_in_hindsight(launch, order);
  return next;
}

/// A launch of which no block runs; it may be one that is refused.
void list(const Order& order) {
  Machine& device = machine();
  LaunchTraffic traffic;
  traffic.kernel = order.kernel.written;
  traffic.grid = dim3(order.shape.grid);
  traffic.block = dim3(order.shape.block);
  traffic.function = function_name(order.kernel.function != nullptr
                                       ? reinterpret_cast<std::uintptr_t>(order.kernel.function)
                                       : reinterpret_cast<std::uintptr_t>(order.body));
  if (volume(order.shape.cluster) > 1) {
    traffic.function += " in clusters of " + shape_text(order.shape.cluster);
    traffic.in_clusters = true;
  }
  traffic.is_cooperative = order.shape.is_cooperative;
  traffic.dynamic_shared_bytes = order.shape.dynamic_shared_bytes;
  device.traffic.push_back(std::move(traffic));
  device.trace.emplace_back();
}

/// A launch that is held: half of its blocks run, then the others. The second half is a launch of
/// its own to the checkers, for what other streams do in between is none of this one's.
Work held(const Order& order, const void* arguments, std::size_t argument_bytes) {
  struct alignas(128) Piece {  // for arguments of any alignment
    std::byte bytes[128];
  };
  std::vector<Piece> copy(argument_bytes / sizeof(Piece) + 1);
  std::memcpy(copy.data(), arguments, argument_bytes);
  return [=, next = std::optional<std::uint64_t>()]() mutable {
    const bool is_first = !next;
    next = run(order, copy.data(), argument_bytes, next.value_or(0),
               is_first ? Share::half : Share::all);
    return is_first;
  };
}

}  // namespace

Machine& machine() {
  static Machine instance;
  return instance;
}

const char* kernel_name(const void* function) {
  static std::set<std::string> names;
  const auto address = reinterpret_cast<std::uintptr_t>(function);
  return names.insert(last_name(function_name(address))).first->c_str();
}

void launch(const LaunchedKernel& kernel, const LaunchShape& shape, void (*body)(void* arguments),
            void* arguments, std::size_t argument_bytes) {
  Machine& device = machine();
  if (const Launch* outer = launch_of_kernel()) {
    const Findings::Writing writing(device.findings);
    refuse(device, outer->begin.kernel,
           "A kernel launches another kernel: the simulator has no dynamic parallelism.",
           kErrorNotSupported);
    return;
  }
  if (device.errors.sticky() != kSuccess) return;
  const auto site = reinterpret_cast<CodeAddress>(__builtin_return_address(0));
  device.host_calls.note_work(shape.stream, std::string("The launch of ") + kernel.written, site,
                              device.findings);
  const auto host_calls = std::make_shared<const std::vector<CodeAddress>>(calls_from(site));
  Order order = {kernel, shape, body, site, host_calls};
  if (device.blocks.none || device.refuses_launches) list(order);
  if (device.refuses_launches) {
    device.errors.note(kErrorLaunchOutOfResources);
    return;
  }
  const KernelNames names = kernel_names(kernel);
  const std::string wrong = complaint(names, shape, device.attributes);
  if (!wrong.empty()) {
    refuse(device, kernel.written, wrong, kErrorInvalidConfiguration,
           {host_party(site, "launches")});
    return;
  }
  if (volume(shape.cluster) > 0) {
    const std::string clusters =
        cluster_complaint(shape.grid, shape.cluster, device.attributes.allows_large_clusters(names),
                          device.generation->has_clusters);
    if (!clusters.empty()) {
      refuse(device, kernel.written, clusters, kErrorInvalidClusterSize,
             {host_party(site, "launches")});
      return;
    }
  }
  if (shape.is_cooperative) {
    const std::string large = too_large(names, shape, device.memory.shared);
    if (!large.empty()) {
      refuse(device, kernel.written, large, kErrorCooperativeLaunchTooLarge,
             {host_party(site, "launches")});
      return;
    }
  }
  // Held work of several streams runs by turns: which kernel is before this one is not known then.
  const bool holds = device.streams.hold_work();
  order.shape.may_begin_early &= !holds && device.kernel_before == shape.stream;
  device.kernel_before = shape.stream;
  if (device.blocks.none) return;
  if (holds) {
    device.streams.put(shape.stream, held(order, arguments, argument_bytes));
  } else {
    run(order, arguments, argument_bytes, 0, Share::all);
  }
}

}  // namespace simulator
