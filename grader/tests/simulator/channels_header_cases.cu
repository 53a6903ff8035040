// onepass/channels.h alone: which packs a thread has and where they lie, values in registers, sums
// over a block, and what is launched. nvcc compiles this file too (language_test.cpp).
#include <onepass/channels.h>

#include "tests/simulator/case_kernels.h"

namespace onepass {

/// As an exercise has it to define: of groups with numbers that are exact in fp32.
__device__ inline void merge(Moments& sum, const Moments& other) {
  sum.count += other.count;
  sum.mean += other.mean;
  sum.m2 += other.m2;
}

}  // namespace onepass

namespace {

using onepass::Access;
using onepass::Held;
using onepass::Layout;
using onepass::Moments;
using onepass::Pack;
using onepass::Part;

template <typename T>
struct Tensors {
  const T* x;
  T* y;
  float* sums;  // [channels]
  unsigned batch, channels, space;
};

/// Adds 1 to all elements of a slice and keeps them, adds up the channel's numbers.
template <typename A, typename T>
__device__ void add_one(const Tensors<T>& t, const Part<A>& my) {
  extern __shared__ __align__(16) unsigned char memory[];
  auto* kept = reinterpret_cast<Pack<T, A::V>*>(memory);
  Moments mine = {0.0f, 0.0f, 0.0f};
  for (unsigned i = my.first; i < my.end; i += A::kPacks * my.step) {
    Held<A, T> held;
    held.load(t.x, my, i);
    int values = 0;
    held.for_values([&](float value) {
      ++values;
      mine.mean += value;
    });
    expect(values == held.count);
    mine.count += static_cast<float>(held.count);
    my.for_packs(i, [&](int p, unsigned n) { kept[my.slot(n)] = held.packs[p]; });
  }
  const Moments slice = onepass::merged_threads<A::kChannels>(mine);
  if (my.leads) {
    atomicAdd(t.sums + my.channel, slice.mean);
    atomicAdd(t.sums + t.channels + my.channel, slice.count);
  }
  for (unsigned n = my.first; n < my.end; n += my.step) {
    Pack<T, A::V> pack = kept[my.slot(n)];
    for (T& value : pack.values) {
      value = static_cast<T>(static_cast<float>(value) + 1.0f);
    }
    my.store(t.y, n, pack);
  }
}
template <typename A, typename T>
__global__ void __launch_bounds__(onepass::kKeepThreads) keep(Tensors<T> t, Layout layout) {
  if (layout.slices > 1) {
    onepass::sync_cluster();
  }
  add_one(t, Part<A>(layout, blockIdx.x, blockIdx.y));
}

template <typename A, typename T>
__global__ void no_part(Tensors<T>, Layout) {
  expect(false);
}

/// x counts from 0. `past`: elements between a multiple of 16 bytes and both tensors.
template <typename A, typename T>
void add_one_to(unsigned batch, unsigned channels, unsigned space, int past = 0) {
  T* y = zeros<T>() + past;
  float* sums = zeros<float>(2);
  const Tensors<T> t = {counting<T>() + past, y, sums, batch, channels, space};
  onepass::launch_channels<A>(keep<A, T>, no_part<A, T>, no_part<A, T>, t, nullptr);
  expect(y, batch * channels * space, static_cast<float>(past + 1), 1.0f);
  T behind;
  cudaMemcpy(&behind, y + batch * channels * space, sizeof(T), cudaMemcpyDeviceToHost);
  assert(static_cast<float>(behind) == 0.0f);
  float got[128];
  cudaMemcpy(got, sums, sizeof(got), cudaMemcpyDeviceToHost);
  for (unsigned c = 0; c < channels; ++c) {
    unsigned sum = 0;
    for (unsigned sample = 0; sample < batch; ++sample) {
      for (unsigned s = 0; s < space; ++s) {
        sum += past + (sample * channels + c) * space + s;
      }
    }
    assert(got[c] == static_cast<float>(sum));
    assert(got[channels + c] == static_cast<float>(batch * space));
  }
}

CASE(whole_packs_of_channels, "") {
  add_one_to<Access<1, 4, false>, float>(2, 3, 4);
  add_one_to<Access<1, 4, false>, float>(5, 1, 200);
  add_one_to<Access<1, 8, false>, __half>(3, 5, 16);
  add_one_to<Access<1, 4, false>, __half>(3, 5, 12);
  add_one_to<Access<1, 1, false>, float>(3, 5, 7);
}
CASE(packs_with_edges, "") {
  for (const unsigned space : {1, 7, 8, 9, 15, 16, 17, 49}) {
    for (const int past : {0, 1, 7}) {
      add_one_to<Access<1, 8, true>, __half>(3, 4, space, past);
    }
  }
  add_one_to<Access<1, 4, true>, float>(2, 2, 65, 3);
}
CASE(channels_side_by_side, "") {
  add_one_to<Access<32, 1, false>, float>(17, 35, 1);
  add_one_to<Access<32, 1, false>, __half>(2, 40, 1);
  add_one_to<Access<32, 1, false>, float>(5, 32, 3);
}

// ---- Launches ----

/// Leaves in t.sums: how often it was launched, with how many slices, of which length, and threads.
template <int kWhich, typename A, typename T>
__global__ void see(Tensors<T> t, Layout layout) {
  if (blockIdx.x + blockIdx.y + threadIdx.x == 0) {
    t.sums[kWhich] += 1.0f;
    t.sums[3] = static_cast<float>(layout.slices);
    t.sums[4] = static_cast<float>(layout.length);
    t.sums[5] = static_cast<float>(blockDim.x);
    expect(gridDim.y == layout.slices && gridDim.x == (t.channels - 1) / A::kChannels + 1);
    expect(layout.slices * layout.length >= layout.packs);
    expect((layout.slices - 1) * layout.length < layout.packs);  // the last slice has some
  }
}
/// keeps: one kernel and not two.
template <typename A, typename T>
void expect_launch(bool keeps, unsigned batch, unsigned space, float slices, float length,
                   float threads) {
  const Tensors<T> t = {nullptr, nullptr, zeros<float>(), batch, 33, space};
  onepass::launch_channels<A>(see<0, A, T>, see<1, A, T>, see<2, A, T>, t, nullptr);
  float got[6];
  cudaMemcpy(got, t.sums, sizeof(got), cudaMemcpyDeviceToHost);
  const float expected[6] = {
      keeps ? 1.0f : 0.0f, keeps ? 0.0f : 1.0f, keeps ? 0.0f : 1.0f, slices, length, threads};
  for (int i = 0; i < 6; ++i) {
    assert(got[i] == expected[i]);
  }
}
CASE(blocks_of_a_channel, "") {
  assert(onepass::has_clusters());
  using Wide = Access<1, 8, false>;
  expect_launch<Wide, __half>(true, 2, 64, 1, 32, 32);
  expect_launch<Wide, __half>(true, 4, 2048, 1, 1024, 96);
  expect_launch<Wide, __half>(true, 16, 2048, 2, 2048, 192);      // 64 KB
  expect_launch<Wide, __half>(true, 32, 2048, 8, 1024, 96);       // 65,536 elements
  expect_launch<Wide, __half>(true, 400, 2048, 8, 12800, 512);    // 200 KB for each block
  expect_launch<Wide, __half>(false, 800, 2048, 200, 1024, 256);  // more than a cluster keeps
  expect_launch<Wide, __half>(false, 8192, 2048, 512, 4096, 256);
  expect_launch<Access<32, 1, false>, float>(true, 400, 1, 1, 416, 512);
  expect_launch<Access<32, 1, false>, float>(false, 100'000, 1, 49, 2048, 256);
}
CASE(layout_of_many_rows, "") {
  for (const unsigned row_packs : {1u, 2u, 3u, 7u, 49u, 1000u, 65'537u, (1u << 31) - 1}) {
    const Tensors<float> t = {nullptr, nullptr, nullptr, 1, 1, row_packs};
    const Layout layout = onepass::layout_of<Access<1, 1, false>>(t);
    assert(layout.row_packs == row_packs && layout.slices == 1);
    const unsigned last = (1u << 31) - 1;
    for (const unsigned n : {0u, 1u, row_packs - 1, row_packs, 3 * row_packs, last - 1, last}) {
      const uint64_t product = uint64_t{2 * n} * layout.multiplier >> 32;  // as __umulhi()
      assert(n > last || product >> layout.shift == n / row_packs);
    }
  }
}

}  // namespace
