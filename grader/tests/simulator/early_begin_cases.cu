// Programmatic dependent launches: a kernel that may begin before the one before it has ended.
#include <cooperative_groups.h>
#include <cuda_pipeline.h>
#include <cuda/barrier>
#include <cuda/ptx>

#include "tests/simulator/case_kernels.h"

namespace {

/// A launch on the default stream that may begin early.
const cudaLaunchConfig_t* early(dim3 grid = 2) {
  static cudaLaunchAttribute attribute;
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  static cudaLaunchConfig_t config;
  config = {grid, 64, 0, nullptr, &attribute, 1};
  return &config;
}

__global__ void writes(float* x) {
  cudaTriggerProgrammaticLaunchCompletion();
  x[blockIdx.x * 64 + threadIdx.x] = 1;  // write
}
__global__ void reads(const float* x, float* y, bool waits) {
  if (waits) cudaGridDependencySynchronize();
  y[blockIdx.x * 64 + threadIdx.x] = x[blockIdx.x * 64 + threadIdx.x];  // read
}
CASE(waits_for_the_kernel_before, "") {
  float *x = zeros<float>(), *y = zeros<float>(1);
  writes<<<2, 64>>>(x);
  cudaLaunchKernelEx(early(), reads, x, y, true);
}
CASE(waits_for_nobody, "early-begin",
     {"before writes is sure to have ended", "has not called cudaGridDependencySynchronize()"},
     {{"write", 0, 0}, {"read", 0, 0}}) {
  float *x = zeros<float>(), *y = zeros<float>(1);
  writes<<<2, 64>>>(x);
  cudaLaunchKernelEx(early(), reads, x, y, false);
}
CASE(begins_when_the_other_has_ended, "") {
  float *x = zeros<float>(), *y = zeros<float>(1);
  writes<<<2, 64>>>(x);
  reads<<<2, 64>>>(x, y, false);
}
CASE(reads_what_the_kernel_before_leaves_alone, "") {
  float *x = zeros<float>(), *other = zeros<float>(1), *y = zeros<float>(2);
  writes<<<2, 64>>>(x);
  cudaLaunchKernelEx(early(), reads, other, y, false);
}
CASE(two_that_only_read, "") {
  float *x = zeros<float>(), *y = zeros<float>(1), *z = zeros<float>(2);
  reads<<<2, 64>>>(x, y, false);
  cudaLaunchKernelEx(early(), reads, x, z, false);
}
CASE(overwrites_what_the_kernel_before_reads, "early-begin", {"Writes", "before reads is sure"},
     {{"read", 0, 0}, {"write", 0, 0}}) {
  float *x = zeros<float>(), *y = zeros<float>(1);
  reads<<<2, 64>>>(x, y, false);
  cudaLaunchKernelEx(early(), writes, x);
}

// ---- Which kernel is before it

CASE(the_host_has_waited, "") {
  float *x = zeros<float>(), *y = zeros<float>(1);
  writes<<<2, 64>>>(x);
  cudaDeviceSynchronize();
  cudaLaunchKernelEx(early(), reads, x, y, false);
}
CASE(a_fill_lies_between, "") {
  float *x = zeros<float>(), *y = zeros<float>(1);
  writes<<<2, 64>>>(x);
  cudaMemsetAsync(y, 0, 4, nullptr);
  cudaLaunchKernelEx(early(), reads, x, y, false);
}
CASE(of_three_in_a_row, "early-begin", {}, {{"write", 0, 0}, {"read", 0, 0}}) {
  float *x = zeros<float>(), *y = zeros<float>(1), *z = zeros<float>(2);
  writes<<<2, 64>>>(y);
  cudaLaunchKernelEx(early(), writes, x);
  cudaLaunchKernelEx(early(), reads, x, z, false);
}

// ---- A kernel between that begins early, too: does the first run beside the third?

enum class Between { triggers, triggers_then_waits, waits_then_triggers, waits };
__global__ void between(float* x, Between does) {
  if (does == Between::triggers || does == Between::triggers_then_waits) {
    cudaTriggerProgrammaticLaunchCompletion();
  }
  if (does != Between::triggers) cudaGridDependencySynchronize();
  if (does == Between::waits_then_triggers) cudaTriggerProgrammaticLaunchCompletion();
  x[blockIdx.x * 64 + threadIdx.x] = 1;
}
void with_one_between(Between does, bool waits = false) {
  float *x = zeros<float>(), *y = zeros<float>(1), *z = zeros<float>(2);
  writes<<<2, 64>>>(x);
  cudaLaunchKernelEx(early(), between, y, does);
  cudaLaunchKernelEx(early(), reads, x, z, waits);
}
CASE(two_kernels_before, "early-begin",
     {"before writes is sure to have ended, 2 kernels before it, which uses that, too",
      "as may what lies between the two and triggers before it has waited"},
     {{"write", 0, 0}, {"read", 0, 0}}) {
  with_one_between(Between::triggers);
}
CASE(the_one_between_triggers_before_it_waits, "early-begin", {"2 kernels before it"},
     {{"write", 0, 0}, {"read", 0, 0}}) {
  with_one_between(Between::triggers_then_waits);
}
CASE(the_one_between_waits_before_it_triggers, "") {
  with_one_between(Between::waits_then_triggers);
}
CASE(the_one_between_waits_and_returns, "") {
  with_one_between(Between::waits);
}
CASE(the_one_between_begins_late, "") {
  float *x = zeros<float>(), *y = zeros<float>(1), *z = zeros<float>(2);
  writes<<<2, 64>>>(x);
  between<<<2, 64>>>(y, Between::triggers);
  cudaLaunchKernelEx(early(), reads, x, z, false);
}

// ---- A wait is for the kernel before alone: who has waited for the first of a chain?

CASE(waits_for_the_one_between_which_waits_for_nobody, "early-begin",
     {"Reads", "before writes is sure to have ended, 2 kernels before it",
      "waits for the kernel before alone. between, which lies between the two",
      "let between call cudaGridDependencySynchronize(), too"},
     {{"write", 0, 0}, {"read", 0, 0}}) {
  with_one_between(Between::triggers, true);
}
CASE(each_of_three_waits, "") {
  with_one_between(Between::waits, true);
}
CASE(the_one_between_triggers_waits_and_is_waited_for, "") {
  with_one_between(Between::triggers_then_waits, true);
}
__global__ void first_reads(const float* x, float* y) {
  cudaTriggerProgrammaticLaunchCompletion();
  y[blockIdx.x * 64 + threadIdx.x] = x[blockIdx.x * 64 + threadIdx.x];  // read
}
__global__ void waits_and_writes(float* x) {
  cudaGridDependencySynchronize();
  x[blockIdx.x * 64 + threadIdx.x] = 1;  // write
}
CASE(overwrites_what_the_first_of_three_reads, "early-begin", {"Writes", "before first_reads"},
     {{"read", 0, 0}, {"write", 0, 0}}) {
  float *x = zeros<float>(), *y = zeros<float>(1), *z = zeros<float>(2);
  first_reads<<<2, 64>>>(x, y);
  cudaLaunchKernelEx(early(), between, z, Between::triggers);
  cudaLaunchKernelEx(early(), waits_and_writes, x);
}
CASE(reads_what_the_first_of_three_reads, "") {
  float *x = zeros<float>(), *y = zeros<float>(1), *z = zeros<float>(2), *copy = zeros<float>(3);
  first_reads<<<2, 64>>>(x, y);
  cudaLaunchKernelEx(early(), between, z, Between::triggers);
  cudaLaunchKernelEx(early(), reads, x, copy, true);
}
__global__ void one_of_all_waits(float* x) {
  x[blockIdx.x * 64 + threadIdx.x] = 1;
  if (blockIdx.x == 1 && threadIdx.x == 5) cudaGridDependencySynchronize();
}
CASE(one_thread_of_the_one_between_waits, "") {
  float *x = zeros<float>(), *y = zeros<float>(1), *z = zeros<float>(2);
  writes<<<2, 64>>>(x);
  cudaLaunchKernelEx(early(), one_of_all_waits, y);
  cudaLaunchKernelEx(early(), reads, x, z, true);
}
CASE(the_one_between_begins_late_and_is_waited_for, "") {
  float *x = zeros<float>(), *y = zeros<float>(1), *z = zeros<float>(2);
  writes<<<2, 64>>>(x);
  between<<<2, 64>>>(y, Between::triggers);
  cudaLaunchKernelEx(early(), reads, x, z, true);
}
CASE(the_third_begins_late, "") {
  float *x = zeros<float>(), *y = zeros<float>(1), *z = zeros<float>(2);
  writes<<<2, 64>>>(x);
  cudaLaunchKernelEx(early(), between, y, Between::triggers);
  reads<<<2, 64>>>(x, z, false);
}

/// The first of three; the second waits for nobody, the third for the second.
enum class Triggers { never, behind_its_work, in_the_last_block };
__global__ void first(float* x, Triggers triggers) {
  if (triggers == Triggers::in_the_last_block && blockIdx.x == 1) {
    cudaTriggerProgrammaticLaunchCompletion();
  }
  x[blockIdx.x * 64 + threadIdx.x] = 1;  // write
  __syncthreads();
  if (triggers == Triggers::behind_its_work) cudaTriggerProgrammaticLaunchCompletion();
}
void behind_a_first(Triggers triggers) {
  float *x = zeros<float>(), *y = zeros<float>(1), *z = zeros<float>(2);
  first<<<2, 64>>>(x, triggers);
  cudaLaunchKernelEx(early(), between, y, Between::triggers);
  cudaLaunchKernelEx(early(), reads, x, z, true);
}
CASE(the_first_never_triggers, "") {
  behind_a_first(Triggers::never);
}
CASE(the_first_triggers_behind_its_work, "") {
  behind_a_first(Triggers::behind_its_work);
}
CASE(one_block_of_the_first_triggers, "early-begin", {}, {{"write", 0, 1}, {"read", 0, 1}}) {
  behind_a_first(Triggers::in_the_last_block);
}

/// Of four the last one waits.
void four(Between second, Between third) {
  float *x = zeros<float>(), *y = zeros<float>(1), *z = zeros<float>(2), *copy = zeros<float>(3);
  writes<<<2, 64>>>(x);
  cudaLaunchKernelEx(early(), between, y, second);
  cudaLaunchKernelEx(early(), between, z, third);
  cudaLaunchKernelEx(early(), reads, x, copy, true);
}
CASE(each_of_four_waits, "") {
  four(Between::triggers_then_waits, Between::triggers_then_waits);
}
CASE(the_second_of_four_waits_for_nobody, "early-begin", {"3 kernels before it"},
     {{"write", 0, 0}, {"read", 0, 0}}) {
  four(Between::triggers, Between::waits_then_triggers);
}
CASE(the_third_of_four_waits_for_nobody, "early-begin", {"3 kernels before it"},
     {{"write", 0, 0}, {"read", 0, 0}}) {
  four(Between::triggers_then_waits, Between::triggers);
}
CASE(the_third_of_four_begins_when_the_first_has_ended, "") {
  four(Between::waits_then_triggers, Between::triggers);
}

// ---- Who has waited

enum class Behind { nothing, barrier, syncwarp };
__global__ void one_waits(const float* x, float* y, Behind behind) {
  if (threadIdx.x % 32 == 0) cudaGridDependencySynchronize();
  if (behind == Behind::barrier) __syncthreads();
  if (behind == Behind::syncwarp) __syncwarp();
  y[blockIdx.x * 64 + threadIdx.x] = x[blockIdx.x * 64 + threadIdx.x];  // read
}
CASE(one_thread_waits_for_all_of_its_block, "") {
  float *x = zeros<float>(), *y = zeros<float>(1);
  writes<<<2, 64>>>(x);
  cudaLaunchKernelEx(early(), one_waits, x, y, Behind::barrier);
}
CASE(one_lane_waits_for_its_warp, "") {
  float *x = zeros<float>(), *y = zeros<float>(1);
  writes<<<2, 64>>>(x);
  cudaLaunchKernelEx(early(), one_waits, x, y, Behind::syncwarp);
}
CASE(one_lane_waits_for_itself, "early-begin", {}, {{"write", 1, 0}, {"read", 1, 0}}) {
  float *x = zeros<float>(), *y = zeros<float>(1);
  writes<<<2, 64>>>(x);
  cudaLaunchKernelEx(early(), one_waits, x, y, Behind::nothing);
}

using Barrier = cuda::barrier<cuda::thread_scope_block>;
__global__ void one_waits_then_arrives(const float* x, float* y, bool behind) {
  __shared__ Barrier bar;
  if (threadIdx.x == 0) init(&bar, 64);
  __syncthreads();
  if (threadIdx.x == 0) cudaGridDependencySynchronize();
  Barrier::arrival_token token = bar.arrive();
  if (behind) bar.wait(static_cast<Barrier::arrival_token&&>(token));
  y[blockIdx.x * 64 + threadIdx.x] = x[blockIdx.x * 64 + threadIdx.x];  // read
}
CASE(one_thread_waits_for_those_behind_a_barrier, "") {
  float *x = zeros<float>(), *y = zeros<float>(1);
  writes<<<2, 64>>>(x);
  cudaLaunchKernelEx(early(), one_waits_then_arrives, x, y, true);
}
CASE(one_thread_waits_for_those_that_only_arrive, "early-begin", {},
     {{"write", 63}, {"read", 63}}) {
  float *x = zeros<float>(), *y = zeros<float>(1);
  writes<<<2, 64>>>(x);
  cudaLaunchKernelEx(early(), one_waits_then_arrives, x, y, false);
}
__global__ void waits_too_late(float* x, float* y) {
  const float early = x[blockIdx.x * 64 + threadIdx.x];  // read
  cudaGridDependencySynchronize();
  y[blockIdx.x * 64 + threadIdx.x] = early + x[0];
}
CASE(reads_before_it_waits, "early-begin", {}, {{"write", 0, 0}, {"read", 0, 0}}) {
  float *x = zeros<float>(), *y = zeros<float>(1);
  writes<<<2, 64>>>(x);
  cudaLaunchKernelEx(early(), waits_too_late, x, y);
}

__global__ void waits_in_ptx(const float* x, float* y, bool waits) {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  if (waits) asm volatile("griddepcontrol.wait;" ::: "memory");
  y[blockIdx.x * 64 + threadIdx.x] = x[blockIdx.x * 64 + threadIdx.x];  // read
}
CASE(waits_by_ptx, "") {
  float *x = zeros<float>(), *y = zeros<float>(1);
  writes<<<2, 64>>>(x);
  cudaLaunchKernelEx(early(), waits_in_ptx, x, y, true);
}
CASE(triggers_by_ptx_and_waits_for_nobody, "early-begin", {}, {{"write", 0, 0}, {"read", 0, 0}}) {
  float *x = zeros<float>(), *y = zeros<float>(1);
  writes<<<2, 64>>>(x);
  cudaLaunchKernelEx(early(), waits_in_ptx, x, y, false);
}

// ---- Copies

__global__ void copies_in(const float* x, float* y, bool waits) {
  __shared__ float s[64];
  if (waits) cudaGridDependencySynchronize();
  __pipeline_memcpy_async(&s[threadIdx.x], &x[blockIdx.x * 64 + threadIdx.x], 4);  // begins
  __pipeline_commit();
  cudaGridDependencySynchronize();
  __pipeline_wait_prior(0);
  y[blockIdx.x * 64 + threadIdx.x] = s[threadIdx.x];
}
CASE(a_copy_begins_behind_the_wait, "") {
  float *x = zeros<float>(), *y = zeros<float>(1);
  writes<<<2, 64>>>(x);
  cudaLaunchKernelEx(early(), copies_in, x, y, true);
}
CASE(a_copy_begins_before_the_wait, "early-begin", {"Reads"}, {{"write", 0, 0}, {"begins", 0, 0}}) {
  float *x = zeros<float>(), *y = zeros<float>(1);
  writes<<<2, 64>>>(x);
  cudaLaunchKernelEx(early(), copies_in, x, y, false);
}

__global__ void copies_out(float* y, bool waits) {
  namespace ptx = cuda::ptx;
  __shared__ alignas(16) float s[64];
  s[threadIdx.x] = 1;
  ptx::fence_proxy_async(ptx::space_shared);
  __syncthreads();
  if (threadIdx.x > 0) return;
  if (waits) cudaGridDependencySynchronize();
  float* const here = y + 64 * blockIdx.x;
  ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, here, s, 256);  // copies
  ptx::cp_async_bulk_commit_group();
  ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
}
CASE(a_bulk_copy_waits, "") {
  float *x = zeros<float>(), *y = zeros<float>(1);
  reads<<<2, 64>>>(x, y, false);
  cudaLaunchKernelEx(early(), copies_out, x, true);
}
CASE(a_bulk_copy_over_what_the_kernel_before_reads, "early-begin", {"Writes"},
     {{"read", 0, 0}, {"copies", 0, 0}}) {
  float *x = zeros<float>(), *y = zeros<float>(1);
  reads<<<2, 64>>>(x, y, false);
  cudaLaunchKernelEx(early(), copies_out, x, false);
}

}  // namespace
