// onepass/ring.h alone: each row of two tensors comes out of the ring whole, whatever the width,
// the stride and the address, and its two sums are right. nvcc compiles this file too
// (language_test.cpp).
#include <onepass/ring.h>

#include <initializer_list>
#include <vector>

#include "tests/simulator/case_kernels.h"

namespace {

using onepass::Shape;

/// sums[2 row] and sums[2 row + 1] are those of a row of a and of b. columns[c] is the sum over all
/// rows of a[.][c] - b[.][c], by atomics.
template <typename T, int V, int kColumns, bool kHeld, bool kCluster>
__global__ void sum_rows(const T* a, const T* b, int64_t stride, float* sums, float* columns,
                         int rows, int cols, int slots) {
  constexpr int kPacks = kColumns / V;
  onepass::Ring<T, V, kPacks, kHeld> ring(a, stride, b, stride, rows, cols);
  onepass::RowSums<kCluster> row_sums;
  unsigned row = ring.first_row;
  for (int slot = 0; slot < slots; ++slot) {
    ring.begin_copy(slot, row + slot * ring.step);
    __pipeline_commit();
  }
  int slot = 0;
  for (; row - threadIdx.y < rows; row += ring.step) {
    if (slots == 1) {
      __pipeline_wait_prior(0);
    } else {
      __pipeline_wait_prior(1);
    }
    ring.take(slot, row);
    const auto refill = [&] {
      ring.begin_copy(slot, row + slots * ring.step);
      __pipeline_commit();
    };
    if (ring.kFreeAtOnce) {
      refill();
    }
    float2 values = {0.0f, 0.0f};
    onepass::for_packs<kPacks>(ring.first, ring.end(row), [&](int p, int i) {
      for (int j = 0; j < V; ++j) {
        const float of_a = onepass::value_of(ring.dy(p), j);
        const float of_b = onepass::value_of(ring.x(p), j);
        values.x += of_a;
        values.y += of_b;
        atomicAdd(columns + ring.first_column + i * V + j, of_a - of_b);
      }
    });
    values = row_sums(values);
    if (threadIdx.x == 0 && blockIdx.y == 0 && row < rows) {
      sums[2 * row] = values.x;
      sums[2 * row + 1] = values.y;
    }
    if (!ring.kFreeAtOnce) {
      refill();
    }
    slot = slot + 1 < slots ? slot + 1 : 0;
  }
}

float number(int tensor, int row, int column) {
  return static_cast<float>((7 * row + 3 * column + 5 * tensor) % 11);
}

/// Rows that begin `offset` elements behind a multiple of 128 bytes.
template <typename T, int V, int kColumns, bool kHeld, bool kCluster>
void sums_of(int rows, int cols, int blocks, int offset = 0, int gap = 0, int groups = 2) {
  const int64_t stride = cols + gap;
  T* tensors[2];
  for (int tensor = 0; tensor < 2; ++tensor) {
    std::vector<T> numbers(offset + rows * stride);
    for (int row = 0; row < rows; ++row) {
      for (int column = 0; column < cols; ++column) {
        numbers[offset + row * stride + column] = static_cast<T>(number(tensor, row, column));
      }
    }
    cudaMalloc(&tensors[tensor], numbers.size() * sizeof(T));
    cudaMemcpy(tensors[tensor], numbers.data(), numbers.size() * sizeof(T), cudaMemcpyHostToDevice);
  }
  float* sums = zeros<float>(0);
  float* columns = zeros<float>(1);
  const Shape<T, V, kColumns> shape{cols, blocks};
  const int launched = onepass::launch_groups(
      sum_rows<T, V, kColumns, kHeld, kCluster>, shape, rows, groups, nullptr, tensors[0] + offset,
      tensors[1] + offset, stride, sums, columns, rows, cols);
  assert(launched > 0 && launched <= groups);
  std::vector<float> got(2 * rows);
  cudaMemcpy(got.data(), sums, got.size() * sizeof(float), cudaMemcpyDeviceToHost);
  std::vector<float> expected_columns(cols, 0.0f);
  for (int row = 0; row < rows; ++row) {
    float expected[2] = {0.0f, 0.0f};
    for (int column = 0; column < cols; ++column) {
      for (int tensor = 0; tensor < 2; ++tensor) {
        expected[tensor] += number(tensor, row, column);
        expected_columns[column] += (tensor == 0 ? 1.0f : -1.0f) * number(tensor, row, column);
      }
    }
    assert(got[2 * row] == expected[0] && got[2 * row + 1] == expected[1]);
  }
  std::vector<float> got_columns(cols);
  cudaMemcpy(got_columns.data(), columns, cols * sizeof(float), cudaMemcpyDeviceToHost);
  assert(got_columns == expected_columns);
  cudaFree(tensors[0]);
  cudaFree(tensors[1]);
}

CASE(ring_of_aligned_rows, "") {
  for (const int cols : {8, 248, 512, 520, 1000, 1536}) {
    sums_of<__half, 8, 16, true, false>(11, cols, 1);
    sums_of<__half, 8, 24, false, false>(11, cols, 1, 0, 8);
  }
  sums_of<float, 4, 16, false, false>(9, 1000, 1);
  sums_of<float, 4, 16, true, false>(1, 4, 1);
}
CASE(ring_of_odd_widths, "") {
  for (const int cols : {1, 7, 33, 1001}) {
    sums_of<float, 1, 16, false, false>(9, cols, 1);
    for (const int offset : {0, 1, 5}) {
      sums_of<__half, 1, 32, false, false>(9, cols, 1, offset, 3);
      sums_of<__nv_bfloat16, 1, 32, false, false>(9, cols, 1, offset);
    }
  }
}
CASE(ring_of_rows_in_clusters, "") {
  for (const int blocks : {2, 3, 8}) {
    sums_of<__half, 8, 16, true, true>(7, 512 * blocks - 8, blocks);
    sums_of<__half, 1, 32, false, true>(7, 1024 * blocks - 5, blocks, 1);
  }
  sums_of<float, 4, 16, false, true>(5, 2052, 3);
}
CASE(ring_of_more_rows_than_groups, "") {
  sums_of<__half, 8, 16, true, false>(333, 64, 1, 0, 0, 1);
  sums_of<__half, 1, 32, false, false>(333, 65, 1, 0, 0, 2);
}

/// What with_shape() and launch_groups() say of rows that do not fit.
CASE(no_room_for_a_row, "") {
  const Shape<__half, 8, 16> shape{65536, 1};
  assert(shape.resident == 0);
  const int groups = onepass::launch_groups(
      sum_rows<__half, 8, 16, true, false>, shape, 5, 2, nullptr, zeros<__half>(0),
      zeros<__half>(1), int64_t{65536}, zeros<float>(2), zeros<float>(3), 5, 65536);
  assert(groups == 0);
}

/// A kernel that begins early waits for what the one before it stores.
__global__ void store_late(int* numbers) {
  onepass::let_next_kernel_begin();
  numbers[blockIdx.x * blockDim.x + threadIdx.x] = 1;
}
__global__ void read_early(const int* numbers) {
  onepass::wait_for_kernel_before();
  expect(numbers[blockIdx.x * blockDim.x + threadIdx.x] == 1);
}
CASE(next_kernel_waits, "") {
  int* numbers = zeros<int>();
  store_late<<<4, 64>>>(numbers);
  onepass::launch_early(read_early, 4, 64, nullptr, static_cast<const int*>(numbers));
}

}  // namespace
