// What ends a kernel at its own word: assert(), __trap(), and a block of another shape than it is
// made for. And the results that a collective does not give to all.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "onepass_simulator/device_calls.h"
#include "scheduling/clusters.h"
#include "scheduling/running.h"
#include "scheduling/stopping.h"

namespace simulator {

void* dynamic_shared() {
  return reinterpret_cast<void*>(machine().memory.shared.dynamic_begin());
}

std::size_t shared_address(const void* pointer) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  const SharedMemory& shared = machine().memory.shared;
  if (shared.in_static(address)) return shared.window_of_static() + address - shared.static_begin();
  if (!shared.in_dynamic(address)) return ~std::size_t{0};
  return shared.window_of_dynamic() + address - shared.dynamic_begin();
}

namespace {

/// Of an address of shared memory, or of that of another block of the cluster.
void* pointer_of(std::size_t address, CodeAddress site) {
  constexpr std::size_t kBlock = SharedMemory::kWindowOfBlock;
  const SharedMemory& shared = machine().memory.shared;
  const std::uintptr_t own = shared.at_window(address % kBlock);
  if (own != 0 && address < kBlock) return reinterpret_cast<void*>(own);
  Launch* launch = launch_of_kernel();
  if (launch == nullptr) return nullptr;
  if (own != 0 && address / kBlock <= blocks_of_cluster(*launch)) {
    return reinterpret_cast<void*>(
        in_block_of_cluster(*launch, own, static_cast<unsigned>(address / kBlock - 1)));
  }
  const Findings::Writing writing(launch->machine.findings);
  stop_with(*launch, Kind::wrong_space, site,
            "Takes " + std::to_string(address) +
                " for an address within shared memory, which it is not: that is what "
                "__cvta_generic_to_shared() gives of a pointer to a __shared__ variable.",
            "uses an address of shared memory", kErrorIllegalAddress);
}

}  // namespace

void* shared_pointer(std::size_t address) {
  return pointer_of(address, reinterpret_cast<CodeAddress>(__builtin_return_address(0)));
}

std::size_t map_shared_address(std::size_t address, unsigned rank) {
  const auto site = reinterpret_cast<CodeAddress>(__builtin_return_address(0));
  Launch* launch = launch_of_kernel();
  if (launch == nullptr) return address;
  pointer_of(address, site);
  check_rank(*launch, rank, site);
  return address % SharedMemory::kWindowOfBlock + (rank + 1u) * SharedMemory::kWindowOfBlock;
}

bool is_shared(const void* pointer) {
  return shared_address(pointer) != ~std::size_t{0};
}

bool is_global(const void* pointer) {
  return DeviceMemory::in_range(reinterpret_cast<std::uintptr_t>(pointer));
}

void* global_pointer(void* pointer) {
  Launch* launch = launch_of_kernel();
  if (launch == nullptr || is_global(pointer)) return pointer;
  const bool in_local = launch->thread->stack.contains(reinterpret_cast<std::uintptr_t>(pointer));
  if (!in_local && !is_shared(pointer)) return pointer;  // the access will tell
  const Findings::Writing writing(launch->machine.findings);
  const std::string where = in_local ? "a local variable" : "shared memory";
  stop_with(*launch, Kind::wrong_space, reinterpret_cast<CodeAddress>(__builtin_return_address(0)),
            "Uses a pointer to " + where +
                " in a PTX instruction for global memory: write it without .global" +
                (in_local ? "."
                          : ", or with .shared and the address that "
                            "__cvta_generic_to_shared() gives."),
            "uses a pointer to " + where, kErrorIllegalAddress);
}

void keep_order() {}

void exceed_launch_bounds(unsigned threads) {
  Launch& launch = *launch_of_kernel();
  const Findings::Writing writing(launch.machine.findings);
  const uint3& block = launch.begin.block;
  stop_with(launch, Kind::invalid_launch,
            reinterpret_cast<CodeAddress>(__builtin_return_address(0)),
            "The block has " + std::to_string(block.x * block.y * block.z) +
                " threads, and the kernel's __launch_bounds__ allow " + std::to_string(threads) +
                ": a GPU does not start it (cudaErrorInvalidValue).",
            "would be started", kErrorInvalidValue);
}

void wrong_block_shape(const char* collective, uint3 shape) {
  Launch& launch = *launch_of_kernel();
  const Findings::Writing writing(launch.machine.findings);
  const auto text = [](const uint3& block) {
    return std::to_string(block.x) + " x " + std::to_string(block.y) + " x " +
           std::to_string(block.z);
  };
  stop_with(launch, Kind::assertion, reinterpret_cast<CodeAddress>(__builtin_return_address(0)),
            std::string("This ") + collective + " is made for blocks of " + text(shape) +
                " threads, and the kernel was launched with blocks of " + text(launch.begin.block) +
                ": the two must agree.",
            "stops", kErrorAssert);
}

void too_many_valid(const char* collective, int valid, int threads) {
  Launch& launch = *launch_of_kernel();
  const Findings::Writing writing(launch.machine.findings);
  stop_with(launch, Kind::assertion, reinterpret_cast<CodeAddress>(__builtin_return_address(0)),
            "num_valid is " + std::to_string(valid) + ", and this " + collective + " has " +
                std::to_string(threads) +
                " threads: it may be fewer, not more. On a GPU, values that no thread has given "
                "would be added.",
            "stops", kErrorAssert);
}

void make_undefined(void* value, std::size_t bytes, const char* collective) {
  Launch* launch = launch_of_kernel();
  if (launch == nullptr) return;
  const std::uint32_t bits =
      launch->undefined_results.bits({reinterpret_cast<CodeAddress>(__builtin_return_address(0)),
                                      collective, launch->block->number, launch->thread->number});
  fill_undefined(value, bytes, bits);
}

void trap() {
  Launch* launch = launch_of_kernel();
  if (launch == nullptr) std::abort();
  const Findings::Writing writing(launch->machine.findings);
  stop_with(*launch, Kind::trap, reinterpret_cast<CodeAddress>(__builtin_return_address(0)),
            "The kernel called __trap().", "calls __trap()", kErrorLaunchFailure);
}

}  // namespace simulator

extern "C" {

/// glibc's assert() calls this. Host code's assertions end the program, as always.
[[noreturn]] void __assert_fail(const char* assertion, const char* file, unsigned line,
                                const char* function) noexcept {
  using namespace simulator;
  Launch* launch = launch_of_kernel();
  if (launch == nullptr) {
    std::fprintf(stderr, "%s:%u: %s: Assertion `%s' failed.\n", file, line, function, assertion);
    std::abort();
  }
  const Findings::Writing writing(launch->machine.findings);
  stop_with(*launch, Kind::assertion, reinterpret_cast<CodeAddress>(__builtin_return_address(0)),
            std::string("assert(") + assertion + ") failed.", "fails an assertion", kErrorAssert);
}

}  // extern "C"
