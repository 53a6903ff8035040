// Global memory: bounds, alignment, what nobody has written, freed memory, and pointers that are
// not the device's.
#include <utility>

#include "simulator/simulator.h"
#include "tests/simulator/case_kernels.h"

namespace {

/// Device memory of `count` elements, called x, freed at the end of the case.
template <typename T>
class Device {
 public:
  explicit Device(size_t count, bool initialised = true) {
    simulator::Label label;
    label.name = "x";
    label.element_bytes = sizeof(T);
    data_ = static_cast<T*>(simulator::allocate(count * sizeof(T), 0, label));
    if (initialised) simulator::mark_initialised(data_, count * sizeof(T));
  }
  ~Device() { simulator::release(data_); }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  T* data() { return data_; }

 private:
  T* data_;
};

template <typename T>
__global__ void copy(const T* x, T* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];  // here
}

// ---- Bounds

template <typename T>
void copy_elements(int elements, int threads) {
  Device<T> x(elements), y(elements);
  copy<T><<<(threads + 63) / 64, 64>>>(x.data(), y.data(), threads);
}
CASE_OF_EACH_SIZE(copy_all, "") {
  copy_elements<T>(100, 100);
}
CASE_OF_EACH_SIZE(past_the_end, "out-of-bounds-global", {"x[100]", "1 element past the end of x"},
                  {{"here", 36, 1}}) {
  copy_elements<T>(100, 101);
}

template <typename T>
__global__ void write_at(T* x, long index) {
  x[index] = T();  // here
}
CASE_OF_EACH_SIZE(before_the_start, "out-of-bounds-global",
                  {"Writes x[-1]", "1 element before the start of x"}, {{"here", 0}}) {
  Device<T> x(64);
  write_at<<<1, 1>>>(x.data(), -1);
}
CASE(far_from_every_buffer, "out-of-bounds-global", {"belongs to no buffer", "MiB away"}) {
  Device<float> x(64);
  write_at<<<1, 1>>>(x.data(), 168427136);
}

__global__ void vector_tail(const float* x, float4* y) {
  y[threadIdx.x] = reinterpret_cast<const float4*>(x)[threadIdx.x];  // here
}
CASE(vector_over_the_end, "out-of-bounds-global", {"Reads x[60]"}, {{"here", 15}}) {
  Device<float> x(63);
  Device<float4> y(16);
  vector_tail<<<1, 16>>>(x.data(), y.data());
}
CASE(vector_up_to_the_end, "") {
  Device<float> x(64);
  Device<float4> y(16);
  vector_tail<<<1, 16>>>(x.data(), y.data());
}

// ---- Alignment

template <typename T>
void read_with_offset(int bytes) {
  Device<char> x(2 * sizeof(T) + 64);
  Device<T> y(1);
  copy<T><<<1, 1>>>(reinterpret_cast<const T*>(x.data() + bytes), y.data(), 1);
}
CASE_OF_EACH_SIZE(aligned, "") {
  read_with_offset<T>(sizeof(T));
}
CASE(misaligned_2, "misaligned", {"an address that 2 divides"}, {{"here", 0}}) {
  read_with_offset<__half>(1);
}
CASE(misaligned_4, "misaligned", {"2 past a multiple of 4"}, {{"here", 0}}) {
  read_with_offset<float>(2);
}
CASE(misaligned_8, "misaligned", {"4 past a multiple of 8"}, {{"here", 0}}) {
  read_with_offset<float2>(4);
}
CASE(misaligned_16, "misaligned", {"8 past a multiple of 16"}, {{"here", 0}}) {
  read_with_offset<float4>(8);
}

// More than 16 bytes are no single access, but their type has an alignment too.
struct alignas(16) Half {
  float values[8];
};
struct alignas(32) Whole {
  float values[8];
};
CASE(aligned_structure, "") {
  read_with_offset<Half>(16);
  read_with_offset<Whole>(32);
}
CASE(misaligned_structure, "misaligned",
     {"Reads 32 bytes at an address that is 8 past a multiple of 16",
      "their type, or what is said of the pointer, promises an address that 16 divides"},
     {{"here", 0}}) {
  read_with_offset<Half>(8);
}
CASE(misaligned_wide_structure, "misaligned",
     {"16 past a multiple of 32", "promises an address that 32 divides"}, {{"here", 0}}) {
  read_with_offset<Whole>(16);
}
struct alignas(64) Long {  // g++ copies it in a loop
  float values[256];
};
CASE(aligned_long_structure, "") {
  read_with_offset<Long>(64);
}
CASE(misaligned_long_structure, "misaligned", {"Reads 1024 bytes", "32 past a multiple of 64"},
     {{"here", 0}}) {
  read_with_offset<Long>(32);
}
template <typename T>
__device__ T load(const T* p) {
  return *p;  // returned
}
template <typename T>
__device__ void store(T* p, T value) {
  *p = value;  // stored
}
template <typename T>
__global__ void copy_by_functions(const float* x, float* y) {
  store(reinterpret_cast<T*>(y), load(reinterpret_cast<const T*>(x)));  // calls
}
template <typename T>
void copy_with_offsets(int from, int to) {
  Device<float> x(64), y(64);
  copy_by_functions<T><<<1, 1>>>(x.data() + from, y.data() + to);
}
CASE(structures_by_functions, "") {
  copy_with_offsets<Half>(4, 12);
  copy_with_offsets<Whole>(8, 24);
}
CASE(misaligned_structure_returned, "misaligned",
     {"Reads 32 bytes at an address that is 8 past a multiple of 16"},
     {{"returned", 0, 0, "calls"}}) {
  copy_with_offsets<Half>(2, 0);
}
CASE(misaligned_wide_structure_returned, "misaligned",
     {"Reads 32 bytes at an address that is 16 past a multiple of 32"},
     {{"returned", 0, 0, "calls"}}) {
  copy_with_offsets<Whole>(4, 0);
}
CASE(misaligned_structure_stored, "misaligned",
     {"Writes 32 bytes at an address that is 16 past a multiple of 32"},
     {{"stored", 0, 0, "calls"}}) {
  copy_with_offsets<Whole>(0, 4);
}
__global__ void read_as_another(const Whole* x, Half* y) {
  const Whole& whole = *x;
  *y = reinterpret_cast<const Half&>(whole);
}
CASE(named_as_a_type_and_read_as_another, "") {
  Device<float> x(64);
  Device<Half> y(1);
  read_as_another<<<1, 1>>>(reinterpret_cast<const Whole*>(x.data() + 4), y.data());
}

// What is said of a pointer is a promise, too.
__global__ void copy_as_promised(const float* x, Whole* y) {
  Whole whole;
  __builtin_memcpy(&whole, __builtin_assume_aligned(x, 32), sizeof whole);  // here
  *y = whole;
}
CASE(aligned_as_promised, "") {
  Device<float> x(64);
  Device<Whole> y(1);
  copy_as_promised<<<1, 1>>>(x.data() + 8, y.data());
}
CASE(not_aligned_as_promised, "misaligned", {"8 past a multiple of 32"}, {{"here", 0}}) {
  Device<float> x(64);
  Device<Whole> y(1);
  copy_as_promised<<<1, 1>>>(x.data() + 2, y.data());
}

__global__ void read_first(const Whole* x, float* y) {
  const Whole& whole = *x;  // no access yet
  y[0] = reinterpret_cast<const float*>(&whole)[0];
}
CASE(only_named_misaligned, "") {
  Device<float> x(64), y(1);
  read_first<<<1, 1>>>(reinterpret_cast<const Whole*>(x.data() + 4), y.data());
}
__global__ void read_member(const Half* x, float* y) {
  y[0] = x->values[3];
}
CASE(member_of_misaligned_structure, "") {
  Device<float> x(64), y(1);
  read_member<<<1, 1>>>(reinterpret_cast<const Half*>(x.data() + 2), y.data());
}
// Of neighbours that a structure's alignment holds together nvcc makes one access.
struct alignas(8) Both {
  float first, second;
};
__global__ void write_both(float* y) {
  *reinterpret_cast<Both*>(y) = {1, 2};  // here
}
CASE(both_members, "") {
  Device<float> y(64);
  write_both<<<1, 1>>>(y.data() + 2);
}
CASE(both_members_misaligned, "misaligned",
     {"Writes 4 bytes at an address that is 4 past a multiple of 8",
      "their type, or what is said of the pointer, promises an address that 8 divides"},
     {{"here", 0}}) {
  Device<float> y(64);
  write_both<<<1, 1>>>(y.data() + 1);
}
__global__ void read_all_four(const float* x, float* y) {
  const float4& four = *reinterpret_cast<const float4*>(x);
  y[0] = four.x + four.y + four.z + four.w;  // here
}
CASE(all_four_members_misaligned, "misaligned", {"8 past a multiple of 16"}, {{"here", 0}}) {
  Device<float> x(64), y(1);
  read_all_four<<<1, 1>>>(x.data() + 2, y.data());
}
__global__ void read_two_apart(const float* x, float* y) {
  const float4& four = *reinterpret_cast<const float4*>(x);
  y[0] = four.x + four.w;
}
CASE(two_members_that_are_no_neighbours, "") {
  Device<float> x(64), y(1);
  read_two_apart<<<1, 1>>>(x.data() + 1, y.data());
}
struct Pair {  // may begin at any float
  float first, second;
};
__global__ void write_pair(float* y) {
  *reinterpret_cast<Pair*>(y) = {1, 2};
  y[2] = 3;
  y[3] = 4;
}
CASE(neighbours_that_nothing_holds_together, "") {
  Device<float> y(64);
  write_pair<<<1, 1>>>(y.data() + 1);
}
struct Loose {
  float values[8];
};
__global__ void promise(const Loose* x, Loose* y) {
  *y = *static_cast<const Loose*>(__builtin_assume_aligned(x, 16));  // here
}
void read_as_promised(int floats) {
  Device<float> x(64);
  Device<Loose> y(1);
  promise<<<1, 1>>>(reinterpret_cast<const Loose*>(x.data() + floats), y.data());
}
CASE(promise_kept, "") {
  read_as_promised(4);
}
CASE(promise_broken, "misaligned", {"promises an address that 16 divides"}, {{"here", 0}}) {
  read_as_promised(2);
}
CASE(nothing_promised, "") {
  read_with_offset<Loose>(8);
}

// ---- Several buffers in one allocation

/// A matrix of two rows: three columns of x, three of y, two that nobody has written.
template <typename T>
class Columns : public Device<T> {
 public:
  Columns() : Device<T>(2 * kStride - 2, false) {
    for (const auto& [name, first] : {std::pair("x", x()), std::pair("y", y())}) {
      simulator::name_part(first, (kStride + kCols) * sizeof(T), {name, sizeof(T), kCols, kStride});
      for (size_t row = 0; row < 2; ++row) {
        simulator::mark_initialised(first + row * kStride, kCols * sizeof(T));
      }
    }
  }
  T* x() { return this->data(); }
  T* y() { return this->data() + kCols; }

 private:
  static constexpr size_t kStride = 8, kCols = 3;
};

CASE_OF_EACH_SIZE(columns_of_one_matrix, "") {
  Columns<T> matrix;
  Device<T> z(6);
  copy<T><<<1, 6>>>(matrix.x() + 8, z.data(), 6);
}
CASE_OF_EACH_SIZE(between_columns, "uninitialised-global",
                  {"Reads y[0][3], which nobody has written"}, {{"here", 6}}) {
  Columns<T> matrix;
  Device<T> z(8);
  copy<T><<<1, 8>>>(matrix.x(), z.data(), 8);
}
CASE_OF_EACH_SIZE(past_the_last_columns, "out-of-bounds-global",
                  {"Writes y[1][3]", "1 element past the end of y"}) {
  Columns<T> matrix;
  write_at<<<1, 1>>>(matrix.y(), 11);
}
CASE_OF_EACH_SIZE(before_the_first_columns, "out-of-bounds-global",
                  {"Writes x[-1]", "1 element before the start of x"}) {
  Columns<T> matrix;
  write_at<<<1, 1>>>(matrix.y(), -4);
}

// ---- Uninitialised

CASE_OF_EACH_SIZE(uninitialised_global, "uninitialised-global",
                  {"Reads x[0], which nobody has written"}, {{"here", 0}}) {
  Device<T> x(64, false), y(64);
  copy<T><<<1, 64>>>(x.data(), y.data(), 64);
}
CASE_OF_EACH_SIZE(written_then_read, "") {
  Device<T> x(64), y(64, false), z(64, false);
  copy<T><<<1, 64>>>(x.data(), y.data(), 64);
  copy<T><<<1, 64>>>(y.data(), z.data(), 64);
}
CASE(one_byte_is_missing, "uninitialised-global", {"x[7]"}, {{"here", 7}}) {
  Device<float> x(64), y(64);
  simulator::mark_initialised(reinterpret_cast<char*>(x.data()) + 31, 1, false);
  copy<float><<<1, 64>>>(x.data(), y.data(), 64);
}

__global__ void accumulate(float* x) {
  atomicAdd(x, 1.0f);  // here
}
CASE(atomic_on_uninitialised, "uninitialised-global", {"x[0]"}) {
  Device<float> x(1, false);
  accumulate<<<1, 32>>>(x.data());
}
__global__ void exchange_then_accumulate(float* x) {
  if (threadIdx.x == 0) atomicExch(x, 0.0f);
  __syncthreads();
  atomicAdd(x, 1.0f);
}
CASE(atomic_on_exchanged, "") {
  Device<float> x(1, false);
  exchange_then_accumulate<<<1, 32>>>(x.data());
}
__global__ void exchange(float* x, float* y) {
  const float unused = atomicExch(x, 0.0f);
  (void)unused;
  *y = atomicExch(x + 1, 0.0f);  // here
}
CASE(exchanged_and_used, "uninitialised-global", {"Reads x[1], which nobody has written"},
     {{"here", 0}}, 1) {
  Device<float> x(2, false), y(1);
  exchange<<<1, 1>>>(x.data(), y.data());
}
CASE(exchanged_and_used_of_zero, "") {
  Device<float> x(2, false), y(1);
  cudaMemset(x.data() + 1, 0, sizeof(float));
  exchange<<<1, 1>>>(x.data(), y.data());
}
__global__ void add_in_turn(int* lock, float* sum) {
  if (threadIdx.x == 0) {
    while (atomicExch(lock, 1) != 0) {  // here
    }
    *static_cast<volatile float*>(sum) += 1.0f;
    __threadfence();
    atomicExch(lock, 0);
  }
}
CASE(lock_that_nobody_has_opened, "uninitialised-global", {"Reads x[0]"}, {{"here", 0}}, 1) {
  Device<int> lock(1, false);
  Device<float> sum(1);
  add_in_turn<<<4, 32>>>(lock.data(), sum.data());
}
CASE(lock_that_is_open, "") {
  Device<int> lock(1);
  Device<float> sum(1);
  add_in_turn<<<4, 32>>>(lock.data(), sum.data());
}
CASE(atomic_on_zero, "") {
  Device<float> x(1, false);
  cudaMemset(x.data(), 0, sizeof(float));
  accumulate<<<1, 32>>>(x.data());
}

// ---- Freed memory, and pointers that are not the device's

CASE_OF_EACH_SIZE(freed_memory, "use-after-free", {"Reads x[0] after its memory was freed"},
                  {{"here", 0}}) {
  Device<T> y(64);
  T* freed = nullptr;
  {
    Device<T> x(64);
    freed = x.data();
  }
  copy<T><<<1, 64>>>(freed, y.data(), 64);
}
CASE(cuda_freed_memory, "use-after-free", {"after its memory was freed"}) {
  Device<float> y(64);
  float* freed = nullptr;
  cudaMalloc(&freed, 64 * sizeof(float));
  cudaFree(freed);
  copy<float><<<1, 64>>>(freed, y.data(), 64);
}
// An index that leads past what was freed there came from elsewhere.
CASE(past_freed_memory, "out-of-bounds-global", {"an address that belongs to no buffer"}) {
  Device<float> y(64);
  float* past = nullptr;
  {
    Device<float> x(64);
    past = x.data() + 100;
  }
  copy<float><<<1, 1>>>(past, y.data(), 1);
}
CASE_OF_EACH_SIZE(null, "null-pointer", {"Reads through a null pointer"}, {{"here", 0}}) {
  Device<T> y(64);
  copy<T><<<1, 64>>>(nullptr, y.data(), 64);
}
__global__ void set(int* number) {
  *number = 1;  // here
}
CASE(null_that_the_compiler_knows, "null-pointer", {"Writes through a null pointer"},
     {{"here", 0}}) {
  set<<<1, 1>>>(nullptr);
}
CASE(null_after_a_refused_allocation, "null-pointer",
     {"Reads through a null pointer", "An allocation of 200000000000 bytes has failed before"}) {
  Device<float> y(64);
  float* x = nullptr;
  cudaMalloc(&x, 200'000'000'000);
  copy<float><<<1, 64>>>(x, y.data(), 64);
}
CASE(more_memory_than_this_computer_has, "") {
  Device<float> y(64);
  size_t before = 0, after = 0, total = 0;
  cudaMemGetInfo(&before, &total);
  float* x = nullptr;
  cudaMallocAsync(&x, 110'000'000'000, nullptr);
  cudaMemGetInfo(&after, &total);
  float* const last = x + 110'000'000'000 / sizeof(float) - 64;
  cudaMemsetAsync(last, 0, 64 * sizeof(float), nullptr);
  copy<float><<<1, 64>>>(last, y.data(), before - after == 110'000'000'000 ? 64 : 65);
  cudaFreeAsync(x, nullptr);
}
CASE(null_not_used, "") {
  Device<float> y(64);
  copy<float><<<1, 64>>>(nullptr, y.data(), 0);
}
CASE(host_stack, "host-pointer", {"not the device's"}) {
  Device<float> y(64);
  float x[64] = {};
  copy<float><<<1, 64>>>(x, y.data(), 64);
}
CASE(host_heap, "host-pointer", {"not the device's"}) {
  Device<float> y(64);
  float* x = new float[64]();
  copy<float><<<1, 64>>>(x, y.data(), 64);
  delete[] x;
}
CASE(copied_from_host, "") {
  Device<float> x(64, false), y(64);
  const float host[64] = {};
  cudaMemcpy(x.data(), host, sizeof host, cudaMemcpyHostToDevice);
  copy<float><<<1, 64>>>(x.data(), y.data(), 64);
}
CASE(device_memory_on_host, "device-pointer", {"Host code writes 4 bytes at x[0]"}) {
  Device<float> x(8);
  x.data()[0] = 1;  // here
}

// ---- Structures, and C's functions on memory

struct Pack {
  float v[8];
};
__device__ Pack scaled(Pack pack, float scale) {
  for (float& v : pack.v) v *= scale;
  return pack;
}
__device__ float sum(Pack pack) {
  float result = 0;
  for (const float v : pack.v) result += v;
  return result;
}
__device__ Pack all_of(float value) {
  Pack pack;
  for (float& v : pack.v) v = value;
  return pack;
}
__global__ void store_packs(Pack* x, float scale) {
  x[threadIdx.x] = all_of(scale);
  x[threadIdx.x + blockDim.x] = all_of(-scale);  // here
}
CASE(structure_returned, "out-of-bounds-global", {"Writes x[24]"}, {{"here", 1, 0}}) {
  Device<float> x(24, false);
  store_packs<<<1, 2>>>(reinterpret_cast<Pack*>(x.data()), 2);
}
__global__ void sum_packs(const Pack* x, float* y) {
  y[threadIdx.x] = sum(x[threadIdx.x]);
  y[threadIdx.x + 32] = sum(x[threadIdx.x + 1]);  // here
}
CASE(structure_passed, "out-of-bounds-global", {"Reads x[16]"}, {{"here", 1, 0}}) {
  Device<float> x(16);
  sum_packs<<<1, 2>>>(reinterpret_cast<const Pack*>(x.data()), zeros<float>());
}
__global__ void scale_packs(Pack* x) {
  x[threadIdx.x] = scaled(x[threadIdx.x], 2);
  x[threadIdx.x] = scaled(x[threadIdx.x], 3);
}
CASE(structures_written_and_read, "") {
  Device<float> x(64, false);
  store_packs<<<1, 4>>>(reinterpret_cast<Pack*>(x.data()), 2);
  scale_packs<<<1, 8>>>(reinterpret_cast<Pack*>(x.data()));
}
__global__ void copy_bytes(const float* x, float* y) {
  memcpy(y + 64 * threadIdx.x, x + 64 * threadIdx.x, 64 * sizeof(float));  // here
}
CASE(copy_of_constant_size, "out-of-bounds-global", {"Reads x[64]"}, {{"here", 1, 0}}) {
  Device<float> x(64);
  copy_bytes<<<1, 2>>>(x.data(), zeros<float>());
}
__global__ void clear_bytes(float* x, size_t bytes) {
  memset(x, 0, 200);
  memcpy(x + 50, x, bytes);  // here
}
CASE(fill_and_copy_of_any_size, "out-of-bounds-global", {"Writes x[64]"}, {{"here", 0, 0}}) {
  Device<float> x(64, false);
  clear_bytes<<<1, 1>>>(x.data(), 80);
}

// ---- Constant memory

__constant__ float table[64] = {1, 2, 3};
__global__ void use_table(float* y) {
  y[threadIdx.x] = table[threadIdx.x % 64];
}
CASE(constant_memory, "") {
  use_table<<<1, 128>>>(zeros<float>());
}

}  // namespace
