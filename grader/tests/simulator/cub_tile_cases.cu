// cub::BlockLoad, cub::BlockStore and cub::BlockScan.
#include <cub/cub.cuh>

#include <cuda/functional>

#include "tests/simulator/case_kernels.h"

namespace {

// ---- Tiles

constexpr int kThreads = 64;
constexpr int kItems = 4;
constexpr int kTile = kThreads * kItems;

/// y = x + 1, a tile a block; of the last one only what is there.
template <cub::BlockLoadAlgorithm load, cub::BlockStoreAlgorithm store, typename T>
__global__ void add_one(const T* x, T* y, int count, bool barrier) {
  using Load = cub::BlockLoad<T, kThreads, kItems, load>;
  using Store = cub::BlockStore<T, kThreads, kItems, store>;
  __shared__ union {
    typename Load::TempStorage of_load;
    typename Store::TempStorage of_store;
  } temp;
  const int begin = blockIdx.x * kTile;
  const int rest = count - begin;
  T items[kItems];
  if (rest >= kTile) {
    Load(temp.of_load).Load(x + begin, items);
  } else {
    Load(temp.of_load).Load(x + begin, items, rest, T(7));
  }
  // In blocked order, each thread has its neighbours' neighbours.
  const int first = begin + threadIdx.x * kItems;
  if (load != cub::BLOCK_LOAD_STRIPED) expect(items[0] == T(first < count ? first % 100 : 7));
  for (T& item : items) item = item + T(1);
  if (barrier) __syncthreads();
  if (rest >= kTile) {
    Store(temp.of_store).Store(y + begin, items);
  } else {
    Store(temp.of_store).Store(y + begin, items, rest);
  }
}

template <typename T>
__global__ void fill(T* x, T* y, int count) {
  for (int i = threadIdx.x; i < count + 1; i += blockDim.x) {
    x[i] = T(i % 100);
    y[i] = T(0);
  }
}
template <typename T>
__global__ void compare(const T* y, int count) {
  for (int i = threadIdx.x; i < count; i += blockDim.x) expect(y[i] == T(i % 100 + 1));
  if (threadIdx.x == 0) expect(y[count] == T(0));
}

template <cub::BlockLoadAlgorithm load, cub::BlockStoreAlgorithm store, typename T>
void check_tiles() {
  constexpr int count = 2 * kTile + 11;
  T* x = zeros<T>(0);
  T* y = zeros<T>(1);
  fill<<<1, 32>>>(x, y, count);
  add_one<load, store><<<3, kThreads>>>(x, y, count, true);
  compare<<<1, 32>>>(y, count);
}
template <cub::BlockLoadAlgorithm load, cub::BlockStoreAlgorithm store>
void check_tiles_of_each_type() {
  check_tiles<load, store, float>();
  check_tiles<load, store, double>();
  check_tiles<load, store, short>();
}
CASE(cub_tiles_direct, "") {
  check_tiles_of_each_type<cub::BLOCK_LOAD_DIRECT, cub::BLOCK_STORE_DIRECT>();
}
CASE(cub_tiles_striped, "") {
  check_tiles_of_each_type<cub::BLOCK_LOAD_STRIPED, cub::BLOCK_STORE_STRIPED>();
}
CASE(cub_tiles_vectorize, "") {
  check_tiles_of_each_type<cub::BLOCK_LOAD_VECTORIZE, cub::BLOCK_STORE_VECTORIZE>();
}
CASE(cub_tiles_transpose, "") {
  check_tiles_of_each_type<cub::BLOCK_LOAD_TRANSPOSE, cub::BLOCK_STORE_TRANSPOSE>();
}
CASE(cub_tiles_warp_transpose, "") {
  check_tiles_of_each_type<cub::BLOCK_LOAD_WARP_TRANSPOSE, cub::BLOCK_STORE_WARP_TRANSPOSE>();
}

__global__ void load_twice(const float* x, float* y, bool barrier) {
  using Load = cub::BlockLoad<float, kThreads, kItems, cub::BLOCK_LOAD_TRANSPOSE>;
  __shared__ typename Load::TempStorage temp;
  float items[kItems], others[kItems];
  Load(temp).Load(x, items);  // here
  if (barrier) __syncthreads();
  Load(temp).Load(x, others);
  y[threadIdx.x] = items[0] + others[0];
}
CASE(cub_tile_storage_used_again, "shared-race",
     {"no __syncthreads() between", "the TempStorage of cub::BlockLoad"}) {
  load_twice<<<1, kThreads>>>(zeros<float>(0), zeros<float>(1), false);
}
CASE(cub_tile_storage_used_again_behind_a_barrier, "") {
  load_twice<<<1, kThreads>>>(zeros<float>(0), zeros<float>(1), true);
}

__global__ void copy_by_fours(const float* x, float* y) {
  using Load = cub::BlockLoad<float, 32, 4, cub::BLOCK_LOAD_VECTORIZE>;
  using Store = cub::BlockStore<float, 32, 4, cub::BLOCK_STORE_VECTORIZE>;
  __shared__ typename Load::TempStorage of_load;
  __shared__ typename Store::TempStorage of_store;
  float items[4];
  Load(of_load).Load(x, items);
  Store(of_store).Store(y, items);  // here
}
CASE(cub_tiles_aligned, "") {
  float* y = zeros<float>();
  copy_by_fours<<<1, 32>>>(counting() + 4, y + 4);
  expect(y + 4, 128, 4, 1);
}
CASE(cub_load_not_aligned, "") {
  float* y = zeros<float>();
  copy_by_fours<<<1, 32>>>(counting() + 2, y + 4);
  expect(y + 4, 128, 2, 1);
}
CASE(cub_store_not_aligned, "misaligned", {"16"}) {
  copy_by_fours<<<1, 32>>>(counting() + 4, zeros<float>() + 2);
}

__global__ void past_the_end(const float* x, float* y) {
  using Load = cub::BlockLoad<float, 32, 4>;
  __shared__ typename Load::TempStorage temp;
  float items[4];
  Load(temp).Load(x, items);  // here
  y[threadIdx.x] = items[3];
}
CASE(cub_tile_past_the_end, "out-of-bounds-global", {"past the end"}) {
  past_the_end<<<1, 32>>>(zeros<float>() + kZeroBytes / 4 - 127, zeros<float>(1));
}

/// The shared array is the kernel's own, and so the missing barrier is told as ever.
__global__ void from_shared(float* y, bool barrier) {
  using Load = cub::BlockLoad<float, 64, 1>;
  __shared__ typename Load::TempStorage temp;
  __shared__ float values[65];
  values[threadIdx.x] = 1.0f;  // writes
  if (threadIdx.x == 0) values[64] = 1.0f;
  if (barrier) __syncthreads();
  float item[1];
  Load(temp).Load(values + 1, item);  // loads
  y[threadIdx.x] = item[0];
}
CASE(cub_loads_from_shared_memory, "shared-race",
     {"values[32] is read and written by two threads of a block",
      "which comes first is left to chance."},
     {{"loads", 31}, {"writes", 32}}) {
  from_shared<<<1, 64>>>(zeros<float>(), false);
}
CASE(cub_loads_from_shared_memory_behind_a_barrier, "") {
  from_shared<<<1, 64>>>(zeros<float>(), true);
}

// ---- Scans

struct RunningTotal {
  int total;
  __device__ int operator()(int of_tile) {
    const int before = total;
    total += of_tile;
    return before;
  }
};

template <int threads, cub::BlockScanAlgorithm algorithm>
__global__ void scan_all_ways() {
  using BlockScan = cub::BlockScan<int, threads, algorithm>;
  __shared__ typename BlockScan::TempStorage temp;
  const int t = threadIdx.x;
  constexpr int all = threads * (threads + 1) / 2;
  int inclusive = 0, exclusive = 0, aggregate = 0, largest = 0, from_ten = 0, none_first = 0;
  BlockScan(temp).InclusiveSum(t + 1, inclusive);
  __syncthreads();
  BlockScan(temp).ExclusiveSum(t + 1, exclusive, aggregate);
  expect(inclusive == (t + 1) * (t + 2) / 2 && exclusive == t * (t + 1) / 2 && aggregate == all);
  __syncthreads();
  BlockScan(temp).InclusiveScan((t * 7) % 5, largest, cuda::maximum<>());
  expect(t < 5 ? largest >= (t * 7) % 5 : largest == 4);
  __syncthreads();
  BlockScan(temp).ExclusiveScan(t + 1, from_ten, 10, cuda::std::plus<>(), aggregate);
  expect(from_ten == 10 + t * (t + 1) / 2 && aggregate == all);
  __syncthreads();
  BlockScan(temp).ExclusiveScan(t, none_first, cuda::maximum<>());
  if (t > 0) expect(none_first == t - 1);
  __syncthreads();

  int items[3] = {t, 1, 1};
  BlockScan(temp).InclusiveSum(items, items, aggregate);
  expect(items[2] == t * (t + 1) / 2 + 2 * (t + 1) && items[1] == items[2] - 1);
  expect(aggregate == threads * (threads - 1) / 2 + 2 * threads);
  __syncthreads();

  RunningTotal running = {100};
  int places[2] = {1, 1};
  for (int tile = 0; tile < 2; ++tile) {
    int at[2];
    BlockScan(temp).ExclusiveSum(places, at, running);
    expect(at[0] == 100 + tile * 2 * threads + 2 * t && at[1] == at[0] + 1);
    __syncthreads();
  }
}
CASE(cub_scans, "") {
  scan_all_ways<128, cub::BLOCK_SCAN_RAKING><<<1, 128>>>();
  scan_all_ways<100, cub::BLOCK_SCAN_RAKING_MEMOIZE><<<1, 100>>>();
  scan_all_ways<32, cub::BLOCK_SCAN_WARP_SCANS><<<1, 32>>>();
  scan_all_ways<20, cub::BLOCK_SCAN_WARP_SCANS><<<1, 20>>>();
}

__global__ void scan_twice(int* y, bool barrier) {
  using BlockScan = cub::BlockScan<int, 64>;
  __shared__ typename BlockScan::TempStorage temp;
  int sum = 0;
  BlockScan(temp).InclusiveSum(1, sum);  // here
  if (barrier) __syncthreads();
  BlockScan(temp).InclusiveSum(sum, sum);
  y[threadIdx.x] = sum;
}
CASE(cub_scan_storage_used_again, "shared-race", {"the TempStorage of cub::BlockScan"}) {
  scan_twice<<<1, 64>>>(zeros<int>(), false);
}
CASE(cub_scan_storage_used_again_behind_a_barrier, "") {
  scan_twice<<<1, 64>>>(zeros<int>(), true);
}

__global__ void nothing_first(float* y, unsigned first) {
  using BlockScan = cub::BlockScan<float, 64>;
  __shared__ typename BlockScan::TempStorage temp;
  float before;
  BlockScan(temp).ExclusiveScan(1.0f, before, cuda::maximum<>());  // scans
  if (threadIdx.x >= first) y[threadIdx.x] = before;
}
CASE(cub_scan_with_nothing_first, "warning: undefined-result",
     {"cub::BlockScan", "nothing comes before"}, {{"scans", 0}}) {
  nothing_first<<<1, 64>>>(zeros<float>(), 0);
}
CASE(cub_scan_of_the_others, "") {
  nothing_first<<<1, 64>>>(zeros<float>(), 1);
}

}  // namespace
