#include "driver/gpu_code/resources.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#ifdef ONEPASS_WITH_NVIDIA_HEADERS
#include <cuda_occupancy.h>
#endif

using namespace onepass::driver;

TEST_CASE("what ptxas says of kernels is read, of CUDA 11 to 13") {
  // CUDA 11.8: no barriers, a function that is no kernel, shared memory in two parts.
  const auto old = read_resources(
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function '_Z1kPf' for 'sm_90'\n"
      "ptxas info    : Function properties for _Z1kPf\n"
      "    16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads\n"
      "ptxas info    : Used 255 registers, 64+32 bytes smem, 536 bytes cmem[0]\n"
      "ptxas info    : Function properties for _Z6helperf\n"
      "    400 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads\n");
  REQUIRE(old.size() == 1);
  CHECK(old[0].function == "k(float*)");
  CHECK(old[0].registers == 255);
  CHECK(old[0].local_bytes == 16);
  CHECK(old[0].spill_store_bytes == 8);
  CHECK(old[0].spill_load_bytes == 12);
  CHECK(old[0].shared_bytes == 96);
  // CUDA 13: two kernels, and the time that they took.
  const auto both = read_resources(
      "ptxas info    : Compiling entry function '_ZN7onepass1kI6__halfEEvPT_' for 'sm_90'\n"
      "ptxas info    : Function properties for _ZN7onepass1kI6__halfEEvPT_\n"
      "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 53 registers, used 1 barriers, 128 bytes smem\n"
      "ptxas info    : Compile time = 62.171 ms\n"
      "ptxas info    : Compiling entry function '_Z1kPf' for 'sm_90'\n"
      "ptxas info    : Function properties for _Z1kPf\n"
      "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 8 registers, used 0 barriers\n");
  REQUIRE(both.size() == 2);
  CHECK(both[0].function == "void onepass::k<__half>(__half*)");
  CHECK(both[0].registers == 53);
  CHECK(both[0].shared_bytes == 128);
  CHECK(both[1].registers == 8);
  CHECK(both[1].shared_bytes == 0);
  CHECK(read_resources("").empty());
}

TEST_CASE("kernels have the names that a student gave them") {
  CHECK(short_name("void onepass::k<float, 4, true>(float const*, long)") == "k<float, 4, true>");
  CHECK(short_name("onepass::(anonymous namespace)::k(onepass::(anonymous namespace)::A)") == "k");
  CHECK(short_name("void k<&(f(int))>(float (*)(int))") == "k<&(f(int))>");
  CHECK(short_name("void k<Operator<__nv_bfloat16, Another<Operator<__half, float>, 16>>>(int)") ==
        "k<...>");
  CHECK(same_name("void k<float>(float*) [clone .isra.0]") == "void k<float>(float*)");
}

TEST_CASE("a block has as many registers as a multiprocessor, by warps") {
  CHECK(blocks_at_once(64, 1024, 0) == 1);
  CHECK(blocks_at_once(65, 1024, 0) == 0);
  CHECK(blocks_at_once(32, 1024, 0) == 2);
  CHECK(blocks_at_once(255, 256, 0) == 1);
  CHECK(blocks_at_once(255, 257, 0) == 0);  // nine warps are counted as twelve
  CHECK(blocks_at_once(0, 256, 0) == 8);
  CHECK(blocks_at_once(0, 256, 227 << 10) == 1);
  CHECK(blocks_at_once(0, 256, (227 << 10) + 1) == 0);
  CHECK(blocks_at_once(0, 1025, 0) == 0);
  CHECK(most_registers(1024) == 64);
  CHECK(most_registers(257) == 168);
  CHECK(most_registers(32) == 255);
}

#ifdef ONEPASS_WITH_NVIDIA_HEADERS
TEST_CASE("occupancy is that of the toolkit's own calculator") {
  cudaOccDeviceProp device;
  device.computeMajor = 9;
  device.computeMinor = 0;
  device.maxThreadsPerBlock = 1024;
  device.maxThreadsPerMultiprocessor = 2048;
  device.regsPerBlock = device.regsPerMultiprocessor = 65536;
  device.warpSize = 32;
  device.sharedMemPerBlock = 48 << 10;
  device.sharedMemPerMultiprocessor = 228 << 10;
  device.numSms = 132;
  device.sharedMemPerBlockOptin = 227 << 10;
  device.reservedSharedMemPerBlock = 1 << 10;
  const cudaOccDeviceState state;
  for (int registers = 1; registers <= 255; registers += 2) {
    for (int threads = 1; threads <= 1024; threads += 31) {
      for (const int shared : {0, 1, 1000, 33'000, 76'000, 227 << 10}) {
        cudaOccFuncAttributes kernel;
        kernel.maxThreadsPerBlock = 1024;
        kernel.numRegs = registers;
        kernel.sharedSizeBytes = 0;
        kernel.partitionedGCConfig = PARTITIONED_GC_OFF;
        kernel.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
        kernel.maxDynamicSharedSizeBytes = 227 << 10;
        kernel.numBlockBarriers = 1;
        cudaOccResult result;
        const auto error = cudaOccMaxActiveBlocksPerMultiprocessor(
            &result, &device, &kernel, &state, threads, static_cast<std::size_t>(shared));
        REQUIRE(error == CUDA_OCC_SUCCESS);
        INFO(fmt::format("{} registers, {} threads, {} bytes", registers, threads, shared));
        CHECK(result.activeBlocksPerMultiprocessor ==
              blocks_at_once(registers, static_cast<std::uint64_t>(threads),
                             static_cast<std::uint64_t>(shared)));
      }
    }
  }
}
#endif
