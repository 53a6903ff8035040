// cub::BlockReduce and cub::WarpReduce: results, and what kernels do wrong with them.
#include <cub/cub.cuh>

#include <cuda/functional>

#include "tests/simulator/case_kernels.h"

namespace {

// ---- What comes out

template <typename BlockReduce, int threads>
__global__ void reduce_all_ways() {
  __shared__ typename BlockReduce::TempStorage temp;
  const int t = threadIdx.x + blockDim.x * threadIdx.y;
  const int sum = BlockReduce(temp).Sum(t + 1);
  __syncthreads();
  const int largest = BlockReduce(temp).Reduce((t * 37) % threads, cuda::maximum<>());
  __syncthreads();
  const int smallest = BlockReduce(temp).Reduce(100 - t, cuda::minimum<>());
  __syncthreads();
  const int some = BlockReduce(temp).Sum(t + 1, threads - 3);
  __syncthreads();
  constexpr int at_least_all = threads % 32 == 0 ? threads + 1000 : threads;
  const int more = BlockReduce(temp).Reduce(t + 1, cuda::std::plus<>(), at_least_all);
  __syncthreads();
  const int lambda = BlockReduce(temp).Reduce(
      t, [](int a, int b) { return a | b; }, 1);
  __syncthreads();
  int pairs[2] = {t, 1};
  const int of_pairs = BlockReduce(temp).Sum(pairs);
  if (t == 0) {
    constexpr int all = threads * (threads + 1) / 2;
    expect(sum == all && largest == threads - 1 && smallest == 101 - threads);
    expect(some == (threads - 3) * (threads - 2) / 2 && more == all && lambda == 0);
    expect(of_pairs == all);
  }
}
template <cub::BlockReduceAlgorithm algorithm>
void reduce_in_each_size() {
  reduce_all_ways<cub::BlockReduce<int, 256, algorithm>, 256><<<2, 256>>>();
  reduce_all_ways<cub::BlockReduce<int, 100, algorithm>, 100><<<2, 100>>>();
  reduce_all_ways<cub::BlockReduce<int, 32, algorithm>, 32><<<1, 32>>>();
  reduce_all_ways<cub::BlockReduce<int, 20, algorithm>, 20><<<1, 20>>>();
  reduce_all_ways<cub::BlockReduce<int, 32, algorithm, 3>, 96><<<1, dim3(32, 3)>>>();
}
CASE(cub_reduce_by_warps, "") {
  reduce_in_each_size<cub::BLOCK_REDUCE_WARP_REDUCTIONS>();
}
CASE(cub_reduce_by_raking, "") {
  reduce_in_each_size<cub::BLOCK_REDUCE_RAKING>();
}
CASE(cub_reduce_in_any_order, "") {
  reduce_in_each_size<cub::BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY>();
}

struct Statistics {
  float mean = 0.0f, squares = 0.0f, count = 0.0f;
};
struct Merge {
  __device__ Statistics operator()(const Statistics& a, const Statistics& b) const {
    const float count = a.count + b.count;
    const float delta = b.mean - a.mean;
    return {a.mean + delta * b.count / count,
            a.squares + b.squares + delta * delta * a.count * b.count / count, count};
  }
};
template <cub::BlockReduceAlgorithm algorithm>
__global__ void welford() {
  using BlockReduce = cub::BlockReduce<Statistics, 128, algorithm>;
  __shared__ typename BlockReduce::TempStorage temp;
  Statistics mine;
  mine.mean = static_cast<float>(threadIdx.x);
  mine.count = 1.0f;
  const Statistics all = BlockReduce(temp).Reduce(mine, Merge());
  if (threadIdx.x == 0)
    expect(all.mean == 63.5f && all.count == 128.0f && all.squares == 174752.0f);
}
CASE(cub_reduces_structures, "") {
  welford<cub::BLOCK_REDUCE_WARP_REDUCTIONS><<<1, 128>>>();
  welford<cub::BLOCK_REDUCE_RAKING><<<1, 128>>>();
  welford<cub::BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY><<<1, 128>>>();
}

template <int threads>
__global__ void warps() {
  using WarpReduce = cub::WarpReduce<int, threads>;
  __shared__ typename WarpReduce::TempStorage temp[64 / threads];
  const int warp = threadIdx.x / threads;
  const int lane = threadIdx.x % threads;
  const int sum = WarpReduce(temp[warp]).Sum(lane + 1);
  const int some = WarpReduce(temp[warp]).Sum(lane + 1, 2);
  const int largest = WarpReduce(temp[warp]).Reduce(lane, cuda::maximum<>());
  const int segment = WarpReduce(temp[warp]).HeadSegmentedSum(1, lane % 4 == 0);
  const int same = WarpReduce(temp[warp]).TailSegmentedSum(1, lane % 4 == 3);
  if (lane == 0) {
    expect(sum == threads * (threads + 1) / 2 && largest == threads - 1);
    expect(some == (threads == 1 ? 1 : 3));
  }
  if (lane % 4 == 0) expect(segment == (threads < 4 ? threads : 4) && same == segment);
}
CASE(cub_warps_of_each_size, "") {
  warps<32><<<1, 64>>>();
  warps<16><<<1, 64>>>();
  warps<8><<<1, 64>>>();
  warps<2><<<1, 64>>>();
  warps<1><<<1, 64>>>();
}

// ---- The storage

__global__ void rows(float* y, bool barrier) {
  using BlockReduce = cub::BlockReduce<float, 64>;
  __shared__ typename BlockReduce::TempStorage temp;
  for (int row = 0; row < 2; ++row) {
    const float sum = BlockReduce(temp).Sum(y[row]);  // reduces
    if (threadIdx.x == 0) y[64 + row] = sum;
    if (barrier) __syncthreads();
  }
}
CASE(cub_storage_used_again, "shared-race",
     {"temp[1] is read and written", "the TempStorage of cub::BlockReduce",
      "done with one use of that before the next"},
     {{"reduces", 0}, {"reduces", 32}}) {
  rows<<<1, 64>>>(zeros<float>(), false);
}
CASE(cub_storage_used_again_behind_a_barrier, "") {
  rows<<<1, 64>>>(zeros<float>(), true);
}

template <typename BlockReduce>
__device__ float total(float value, typename BlockReduce::TempStorage& temp) {
  __shared__ float shared;
  const float sum = BlockReduce(temp).Sum(value);  // reduces
  if (threadIdx.x == 0) shared = sum;
  __syncthreads();
  return shared;
}
__global__ void helper(float* y) {
  using BlockReduce = cub::BlockReduce<float, 64>;
  __shared__ union {
    typename BlockReduce::TempStorage reduce;
    float values[64];
  } temp;
  const float first = total<BlockReduce>(1.0f, temp.reduce);
  const float second = total<BlockReduce>(first, temp.reduce);
  temp.values[threadIdx.x] = second;
  __syncthreads();
  y[threadIdx.x] = temp.values[63 - threadIdx.x];
}
CASE(cub_storage_of_a_helper_and_in_a_union, "") {
  helper<<<1, 64>>>(zeros<float>());
}

__global__ void shares_storage(float* y, bool barrier) {
  using BlockReduce = cub::BlockReduce<float, 64>;
  __shared__ union {
    typename BlockReduce::TempStorage reduce;
    float values[64];
  } temp;
  const float sum = BlockReduce(temp.reduce).Sum(1.0f);  // reduces
  if (barrier) __syncthreads();
  temp.values[threadIdx.x] = 1.0f;  // writes
  if (threadIdx.x == 0) y[0] = sum + temp.values[0];
}
CASE(cub_storage_written_by_others, "shared-race", {"the TempStorage of cub::BlockReduce"},
     {{"reduces", 0}, {"writes", 1}}) {
  shares_storage<<<1, 64>>>(zeros<float>(), false);
}
CASE(cub_storage_free_for_others, "") {
  shares_storage<<<1, 64>>>(zeros<float>(), true);
}

__global__ void without_storage(float* y) {
  const float sum = cub::BlockReduce<float, 64>().Sum(1.0f);
  if (threadIdx.x == 0) y[0] = sum;
}
CASE(cub_storage_of_its_own, "") {
  without_storage<<<1, 64>>>(zeros<float>());
}

/// The barrier inside the second call orders the first and the third.
__global__ void by_turns(float* y, int storages) {
  using BlockReduce = cub::BlockReduce<float, 64>;
  extern __shared__ __align__(16) unsigned char bytes[];
  auto* temp = reinterpret_cast<typename BlockReduce::TempStorage*>(bytes);
  for (int row = 0; row < 6; ++row) {
    const float sum = BlockReduce(temp[row % storages]).Sum(1.0f);  // reduces
    if (threadIdx.x == 0) y[row] = sum;
  }
}
CASE(cub_storages_by_turns, "") {
  by_turns<<<1, 64, 64>>>(zeros<float>(), 2);
}
CASE(cub_one_storage_at_each_turn, "shared-race", {"the TempStorage of cub::BlockReduce"},
     {{"reduces", 0}, {"reduces", 32}}) {
  by_turns<<<1, 64, 64>>>(zeros<float>(), 1);
}

__global__ void warps_with(int storages, float* y) {
  using WarpReduce = cub::WarpReduce<float>;
  __shared__ typename WarpReduce::TempStorage temp[2];
  const int warp = threadIdx.x / 32;
  const float sum = WarpReduce(temp[warp % storages]).Sum(1.0f);  // reduces
  if (threadIdx.x % 32 == 0) y[warp] = sum;
}
CASE(cub_warps_share_a_storage, "shared-race",
     {"the TempStorage of cub::WarpReduce: each warp needs one of its own"},
     {{"reduces", 0}, {"reduces", 32}}) {
  warps_with<<<1, 64>>>(1, zeros<float>());
}
CASE(cub_warps_have_a_storage_each, "") {
  warps_with<<<1, 64>>>(2, zeros<float>());
}

// ---- Who takes part, and who gets the result

__global__ void first_warps(int warps) {
  using BlockReduce = cub::BlockReduce<int, 128>;
  __shared__ typename BlockReduce::TempStorage temp;
  if (threadIdx.x < 32 * warps) BlockReduce(temp).Sum(1);  // reduces
  __syncthreads();                                         // waits
}
CASE(cub_called_by_a_part_of_the_block, "barrier-divergence", {"the same __syncthreads()"},
     {{"reduces", 0}, {"waits", 64}}) {
  first_warps<<<1, 128>>>(2);
}
CASE(cub_called_by_the_block, "") {
  first_warps<<<1, 128>>>(4);
}
CASE(cub_of_another_block_shape, "assert",
     {"made for blocks of 128 x 1 x 1 threads", "blocks of 64 x 1 x 1"}, {{"reduces", 0}}) {
  first_warps<<<1, 64>>>(2);
}

/// Of more threads than there are: CUB goes on behind the last one where these are no whole warps.
template <int threads, cub::BlockReduceAlgorithm algorithm>
__global__ void of_too_many() {
  using BlockReduce = cub::BlockReduce<int, threads, algorithm>;
  __shared__ typename BlockReduce::TempStorage temp;
  const int sum = BlockReduce(temp).Sum(1, threads + 1);  // reduces
  if (threadIdx.x == 0) expect(sum == threads);
}
CASE(cub_more_valid_than_threads, "") {
  of_too_many<64, cub::BLOCK_REDUCE_RAKING><<<1, 64>>>();
  of_too_many<64, cub::BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY><<<1, 64>>>();
  of_too_many<64, cub::BLOCK_REDUCE_WARP_REDUCTIONS><<<1, 64>>>();
  of_too_many<20, cub::BLOCK_REDUCE_WARP_REDUCTIONS><<<1, 20>>>();
  of_too_many<16, cub::BLOCK_REDUCE_RAKING><<<1, 16>>>();
}
CASE(cub_more_valid_than_threads_of_a_warp, "assert", {"num_valid is 21", "20 threads"},
     {{"reduces", 0}}) {
  of_too_many<20, cub::BLOCK_REDUCE_RAKING><<<1, 20>>>();
}
CASE(cub_more_valid_than_threads_by_raking, "assert", {"num_valid is 71"}, {{"reduces", 0}}) {
  of_too_many<70, cub::BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY><<<1, 70>>>();
}
CASE(cub_more_valid_than_threads_by_warps, "assert", {"num_valid is 101"}, {{"reduces", 0}}) {
  of_too_many<100, cub::BLOCK_REDUCE_WARP_REDUCTIONS><<<1, 100>>>();
}

/// One type for blocks of all sizes, as many kernels have it.
template <cub::BlockReduceAlgorithm algorithm>
__global__ void up_to_1024_threads(int num_valid) {
  using BlockReduce = cub::BlockReduce<int, 1024, algorithm>;
  __shared__ typename BlockReduce::TempStorage temp;
  const int sum = BlockReduce(temp).Reduce(1, cuda::std::plus<>(), num_valid);  // reduces
  if (threadIdx.x == 0) expect(sum == num_valid);
}
CASE(cub_of_a_larger_block, "") {
  for (const int threads : {1, 20, 64, 100, 1024}) {
    up_to_1024_threads<cub::BLOCK_REDUCE_WARP_REDUCTIONS><<<1, threads>>>(threads);
    up_to_1024_threads<cub::BLOCK_REDUCE_RAKING><<<1, threads>>>(threads);
    up_to_1024_threads<cub::BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY><<<1, threads>>>(threads);
  }
}
CASE(cub_of_a_larger_block_in_whole, "assert", {"made for blocks of 1024 x 1 x 1 threads"},
     {{"reduces", 0}}) {
  up_to_1024_threads<cub::BLOCK_REDUCE_WARP_REDUCTIONS><<<1, 64>>>(65);
}

__global__ void after_return(int threads) {
  using BlockReduce = cub::BlockReduce<int, 64>;
  __shared__ typename BlockReduce::TempStorage temp;
  if (threadIdx.x >= threads) return;
  BlockReduce(temp).Sum(1);  // here
}
CASE(cub_after_some_have_returned, "uninitialised-shared", {"temp[1]"}, {{"here", 0}}, 2) {
  after_return<<<1, 64>>>(32);
}
CASE(cub_after_none_has_returned, "") {
  after_return<<<1, 64>>>(64);
}

__global__ void half_of_a_warp(int lanes) {
  using WarpReduce = cub::WarpReduce<int>;
  __shared__ typename WarpReduce::TempStorage temp;
  if (threadIdx.x < lanes) WarpReduce(temp).Sum(1);  // here
  __syncthreads();
}
CASE(cub_of_a_part_of_the_warp, "deadlock", {"a warp operation"}) {
  half_of_a_warp<<<1, 32>>>(16);
}
CASE(cub_of_the_whole_warp, "") {
  half_of_a_warp<<<1, 32>>>(32);
}

__global__ void result_for(unsigned threads, float* y) {
  using BlockReduce = cub::BlockReduce<float, 64>;
  __shared__ typename BlockReduce::TempStorage temp;
  const float mean = BlockReduce(temp).Sum(1.0f) / 64;  // reduces
  if (threadIdx.x < threads) y[threadIdx.x] = 2 * mean + 1;
}
CASE(cub_result_of_other_threads, "warning: undefined-result",
     {"[1] comes from the result of cub::BlockReduce", "undefined"}, {{"reduces", 1}}) {
  result_for<<<1, 64>>>(64, zeros<float>());
}
CASE(cub_result_of_the_first_thread, "") {
  result_for<<<1, 64>>>(1, zeros<float>());
}

}  // namespace
