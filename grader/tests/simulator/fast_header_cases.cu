// onepass/fast.h alone: sums, shares, packs and launches, each with the numbers that it must give.
// nvcc compiles this file too (language_test.cpp).
#include <onepass/fast.h>

#include <cmath>
#include <initializer_list>

#include "tests/simulator/case_kernels.h"

namespace {

using onepass::kMostBlocks;
using onepass::Pack;
using onepass::RowLayout;
using onepass::RowSum;

using Wide = Pack<__half, 8>;  // 16 bytes
using Narrow = Pack<__half, 2>;
using Single = Pack<float, 1>;

// ---- 1. Packs ----

__device__ inline bool same(float a, float b) {
  return a == b || (isnan(a) && isnan(b));
}

/// value_of() of the lower and the upper half of a word, for all 65,536 values of either.
template <typename T>
__global__ void values_of_halves() {
  const unsigned step = gridDim.x * blockDim.x;
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < 1 << 16; i += step) {
    const unsigned short bits[2] = {static_cast<unsigned short>(i),
                                    static_cast<unsigned short>(~i)};
    Pack<T, 2> pack;
    memcpy(&pack, bits, sizeof(pack));
    expect(same(onepass::value_of(pack, 0), static_cast<float>(pack.values[0])));
    expect(same(onepass::value_of(pack, 1), static_cast<float>(pack.values[1])));
  }
}
CASE(value_of_every_half, "") {
  values_of_halves<__half><<<8, 256>>>();
  values_of_halves<__nv_bfloat16><<<8, 256>>>();
}

template <typename T, int V>
__global__ void packs_counting(const T* numbers) {
  const auto pack = reinterpret_cast<const Pack<T, V>*>(numbers)[3];
  const Pack<T, V> given = onepass::pack_or<true, V>(numbers, 3, -1.0f);
  const Pack<T, V> asked = onepass::pack_or<false, V>(numbers, 3, -1.0f);
  const T* none = nullptr;
  const Pack<T, V> otherwise = onepass::pack_or<false, V>(none, 3, -1.0f);
  for (int j = 0; j < V; ++j) {
    expect(onepass::value_of(pack, j) == 3 * V + j);
    expect(onepass::value_of(given, j) == 3 * V + j);
    expect(onepass::value_of(asked, j) == 3 * V + j);
    expect(onepass::value_of(otherwise, j) == -1.0f);
  }
}
CASE(packs_of_every_width, "") {
  packs_counting<__half, 8><<<1, 1>>>(counting<__half>());
  packs_counting<__half, 2><<<1, 1>>>(counting<__half>());
  packs_counting<__half, 1><<<1, 1>>>(counting<__half>());
  packs_counting<__nv_bfloat16, 8><<<1, 1>>>(counting<__nv_bfloat16>());
  packs_counting<float, 4><<<1, 1>>>(counting<float>());
  packs_counting<float, 1><<<1, 1>>>(counting<float>());
}

// ---- 2. Sums over a row ----

/// Thread t of row r adds (r + 1) (t + 1), and then (r + 1): all exact in fp32.
template <bool kCluster>
__global__ void two_sums() {
  RowSum<kCluster> row_sum;
  const int threads = gridDim.y * blockDim.x;  // of a row
  const int t = blockIdx.y * blockDim.x + threadIdx.x;
  const float row = static_cast<float>(blockIdx.x * blockDim.y + threadIdx.y + 1);
  expect(row_sum(row * static_cast<float>(t + 1)) ==
         row * static_cast<float>(threads * (threads + 1) / 2));
  expect(row_sum(row) == row * static_cast<float>(threads));
}
CASE(row_sum_in_a_block, "") {
  for (const int threads : {4, 8, 16, 32, 64, 96, 128, 1024}) {
    const int rows = threads < 128 ? 128 / threads : 1;
    two_sums<false><<<3, dim3(threads, rows)>>>();
  }
  two_sums<false><<<2, dim3(96, 5)>>>();
}
CASE(row_sum_in_a_cluster, "") {
  for (const int blocks : {2, 3, kMostBlocks}) {
    for (const int threads : {32, 96, 256}) {
      onepass::launch_rows(two_sums<true>, RowLayout{threads, 1, blocks}, 3, nullptr);
    }
  }
}

// ---- 3. Shares ----

/// counts[row][i] is how many threads have pack i of the row, counts[row][packs] how many lead.
template <typename RowPack, int kPacks, bool kCluster>
__global__ void count_packs(int* counts, int rows, int packs) {
  const onepass::Share<RowPack, kPacks, kCluster> my(rows, packs);
  int* of_row = counts + my.row * (packs + 1);
  if (my.leads) {
    atomicAdd(of_row + packs, 1);
  }
  unsigned used = 0;  // which p
  my.for_packs([&](int p, int i) {
    expect(p >= 0 && p < kPacks && (used >> p & 1) == 0);
    expect(blockDim.x % 32 != 0 || i % 32 == static_cast<int>(threadIdx.x) % 32);  // one access
    used |= 1u << p;
    atomicAdd(of_row + i, 1);
  });
}
template <typename RowPack, int kPacks, bool kCluster>
void count_all(RowLayout layout, int rows, int packs) {
  int* counts = zeros<int>();
  onepass::launch_rows(count_packs<RowPack, kPacks, kCluster>, layout, rows, nullptr, counts, rows,
                       packs);
  constexpr int kMost = kZeroBytes / sizeof(int);
  static int got[kMost];
  cudaMemcpy(got, counts, kZeroBytes, cudaMemcpyDeviceToHost);
  assert(rows * (packs + 1) < kMost);
  for (int i = 0; i < kMost; ++i) {
    assert(got[i] == (i < rows * (packs + 1) ? 1 : 0));
  }
}
template <typename RowPack, int kPacks>
void count_in_a_block() {
  for (const int threads : {4, 8, 16, 32, 64, 96}) {
    if (threads >= 32 || sizeof(RowPack) == 16) {  // layout_of_rows() gives no others
      for (const int packs : {1, threads, threads * kPacks - 1, threads * kPacks}) {
        count_all<RowPack, kPacks, false>({threads, 128 / threads, 1}, 2 * (128 / threads) + 1,
                                          packs);
      }
    }
  }
}
template <typename RowPack, int kPacks>
void count_in_a_cluster() {
  for (const int blocks : {2, 3, kMostBlocks}) {
    const int most = 64 * blocks * kPacks;
    for (const int packs : {1, most / 2 + 1, most - 1, most}) {
      count_all<RowPack, kPacks, true>({64, 1, blocks}, 2, packs);
    }
  }
}
CASE(share_has_each_pack_once, "") {
  count_in_a_block<Wide, 4>();
  count_in_a_block<Narrow, 16>();
  count_in_a_block<Single, 3>();
}
CASE(share_of_a_cluster_has_each_pack_once, "") {
  count_in_a_cluster<Wide, 4>();
  count_in_a_cluster<Narrow, 13>();
  count_in_a_cluster<Single, 1>();
}

// ---- 4. Launches ----

template <typename RowPack, int kPacks>
RowLayout layout_for(int rows, int packs, int blocks = 1, int most_threads = 1024) {
  return onepass::layout_of_rows<RowPack, kPacks>(rows, packs, blocks, most_threads);
}
bool is(RowLayout layout, int threads, int rows) {
  return layout.threads == threads && layout.rows == rows;
}
CASE(layouts_of_many_rows, "") {
  constexpr int kMany = 1 << 20;
  for (int packs = 1; packs <= 16; ++packs) {
    assert(is(layout_for<Wide, 4>(kMany, packs), 4, 32));  // never fewer than 4 lanes
  }
  assert(is(layout_for<Wide, 4>(kMany, 17), 8, 16));
  assert(is(layout_for<Wide, 4>(kMany, 33), 16, 8));
  assert(is(layout_for<Wide, 4>(kMany, 65), 32, 4));
  assert(is(layout_for<Wide, 4>(kMany, 129), 64, 2));
  assert(is(layout_for<Wide, 4>(kMany, 257), 96, 1));
  assert(is(layout_for<Wide, 4>(kMany, 512), 128, 1));
  assert(is(layout_for<Narrow, 16>(kMany, 1), 32, 4));  // narrow packs: whole warps
  assert(is(layout_for<Narrow, 16>(kMany, 513), 64, 2));
  assert(is(layout_for<Wide, 4>(kMany, 4096, 3), 352, 1));
}
CASE(few_rows_have_more_threads, "") {
  assert(is(layout_for<Wide, 4>(1, 512), 512, 1));          // one pack each, and no more
  assert(is(layout_for<Wide, 4>(1, 512, 1, 256), 256, 1));  // no more than there may be
  assert(is(layout_for<Wide, 4>(1, 16), 16, 8));
  assert(is(layout_for<Wide, 4>(1, 1), 4, 32));
  assert(is(layout_for<Narrow, 16>(1, 512), 32, 4));
}
CASE(rows_of_several_blocks, "") {
  assert(onepass::blocks_of_row(1024, 4) == 1);
  assert(onepass::blocks_of_row(1025, 4) == 2);
  assert(onepass::blocks_of_row(2 * 896 + 1, 4) == 3);
  assert(onepass::blocks_of_row(100'000, 4) == kMostBlocks);
}
template <typename T>
int columns_of(int bytes) {
  int columns = 0;
  onepass::with_pack_of<T>(bytes, [&](auto pack) { columns = pack.value; });
  return columns;
}
CASE(columns_of_a_pack, "") {
  assert(columns_of<__half>(16) == 8 && columns_of<float>(16) == 4);
  assert(columns_of<__half>(8) == 2 && columns_of<float>(8) == 1);
  assert(columns_of<__half>(4) == 2 && columns_of<float>(4) == 1);
  assert(columns_of<__half>(2) == 1);
}

// ---- The examples in the header's comments, as one kernel: y = x divided by the row's sum ----

template <typename T, int V>
__global__ void shares_of_sum(const T* x, T* y, int rows, int cols) {
  constexpr int kPacks = 4;
  RowSum<false> row_sum;
  const onepass::Share<Pack<T, V>, kPacks> my(rows, cols / V);
  const auto* x_row = reinterpret_cast<const Pack<T, V>*>(x + my.row * cols);
  auto* y_row = reinterpret_cast<Pack<T, V>*>(y + my.row * cols);
  Pack<T, V> held[kPacks] = {};
  my.for_packs([&](int p, int i) { held[p] = x_row[i]; });
  float of_thread = 0.0f;
  for (const Pack<T, V>& pack : held) {
    for (int j = 0; j < V; ++j) {
      of_thread += onepass::value_of(pack, j);
    }
  }
  const float sum = row_sum(of_thread);
  my.for_packs([&](int p, int i) {
    Pack<T, V> pack;
    for (int j = 0; j < V; ++j) {
      pack.values[j] = static_cast<T>(onepass::value_of(held[p], j) / sum);
    }
    y_row[i] = pack;
  });
}
CASE(examples_of_the_header, "") {
  constexpr int kRows = 3;
  constexpr int kCols = 32;  // 0 to 31, 32 to 63, 64 to 95
  const auto* x = counting<__half>();
  auto* y = zeros<__half>();
  for (const int bytes : {2, 4, 16}) {
    onepass::with_pack_of<__half>(bytes, [&](auto pack) {
      constexpr int V = pack.value;
      const auto layout = onepass::layout_of_rows<Pack<__half, V>, 4>(kRows, kCols / V, 1, 1024);
      onepass::launch_rows(shares_of_sum<__half, V>, layout, kRows, nullptr, x, y, kRows, kCols);
    });
    __half got[kRows * kCols];
    cudaMemcpy(got, y, sizeof(got), cudaMemcpyDeviceToHost);
    for (int i = 0; i < kRows * kCols; ++i) {
      const int sum = i / kCols * kCols * kCols + kCols * (kCols - 1) / 2;
      assert(static_cast<float>(got[i]) ==
             static_cast<float>(__half(static_cast<float>(i) / static_cast<float>(sum))));
    }
  }
}

}  // namespace
