// Runs some of the simulator's cases on a GPU, for compute-sanitizer: `run_case NAME...`.
// Without a name it prints every case, with the kind of what the simulator finds in it or "-".
#include <cuda_runtime.h>

#include <cstdio>
#include <string>
#include <vector>

#include "simulator/simulator.h"
#include "tests/simulator/cases.h"
#include "worker/watched_calls_gpu.h"

// What the cases ask of the simulator, as far as there is anything like it on a GPU.
namespace simulator {

void* allocate(std::size_t bytes, std::size_t, const Label&) {
  void* memory = nullptr;
  cudaMalloc(&memory, bytes);
  return memory;
}
void name_part(void*, std::size_t, const Label&) {}
void release(void* memory) {
  cudaFree(memory);
}
void mark_initialised(void* memory, std::size_t bytes, bool initialised) {
  if (initialised) cudaMemset(memory, 0, bytes);
}
void set_block_order(BlockOrder, std::uint64_t) {}
void run_sample_of_blocks(std::uint64_t) {}
void limit_accesses(std::uint64_t) {}
void hold_work(bool) {}
void count_requests(bool) {}
std::vector<LaunchTraffic> take_traffic() {
  return {};
}

}  // namespace simulator

int main(int count, char** arguments) {
  if (count < 2) {
    for (const Case& one : cases()) {
      const std::string kind = one.expected.finds.empty() ? "-" : one.expected.finds;
      std::printf("%s\t%s\n", one.name.c_str(), kind.c_str());
    }
    return 0;
  }
  cudaDeviceSetLimit(cudaLimitStackSize, onepass::worker::kLocalMemory);  // as a worker does
  for (int i = 1; i < count; ++i) {
    for (const Case& one : cases()) {
      if (one.name == arguments[i]) one.run();
    }
    const cudaError_t of_a_kernel = cudaDeviceSynchronize();
    const cudaError_t of_a_call = cudaGetLastError();
    const cudaError_t error = of_a_kernel != cudaSuccess ? of_a_kernel : of_a_call;
    if (error != cudaSuccess) {
      std::fprintf(stderr, "%s: %s\n", arguments[i], cudaGetErrorString(error));
      return 1;
    }
  }
}
