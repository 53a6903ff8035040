// How wide the loads and stores of structures are: what nvcc may assume about the address at that
// place decides, not the address itself. Each kernel reads and writes with one warp. Beside it
// stands what its machine code has: nvcc 13.0, -arch=sm_90, the LDG and STG of cuobjdump -sass.
#include <cuda_bf16.h>

#include <cassert>
#include <cstring>

#include "simulator/simulator.h"
#include "tests/simulator/case_kernels.h"

namespace {

template <typename T, int n>
struct Pack {
  T v[n];
};
template <typename T, int n>
struct alignas(sizeof(T) * n) AlignedPack {
  T v[n];
};

struct Requests {
  unsigned loads, load_bytes, stores, store_bytes;
};

/// Of global memory, by one warp.
template <typename Kernel, typename From, typename To>
void count(Kernel kernel, const From* x, To* y, const Requests& expected) {
  simulator::take_traffic();
  simulator::count_requests(true);
  kernel<<<1, 32>>>(x, y);
  simulator::count_requests(false);
  Requests found = {};
  for (const simulator::LineTraffic& line : simulator::take_traffic().at(0).lines) {
    if (line.space == simulator::MemorySpace::shared) continue;
    const bool is_load = line.type == simulator::AccessType::read;
    (is_load ? found.loads : found.stores) += static_cast<unsigned>(line.requests);
    (is_load ? found.load_bytes : found.store_bytes) = line.lane_bytes;
  }
  assert(found.loads == expected.loads);
  assert(found.load_bytes == expected.load_bytes);
  assert(found.stores == expected.stores);
  assert(found.store_bytes == expected.store_bytes);
}

// ---- Copied whole

template <typename T>
__global__ void copy(const T* x, T* y) {
  y[threadIdx.x] = x[threadIdx.x];
}
template <typename T>
__global__ void copy_by_register(const T* x, T* y) {
  const T value = x[threadIdx.x];
  y[threadIdx.x] = value;
}
template <typename T>
void count_copies(const Requests& expected) {
  count(copy<T>, zeros<T>(), zeros<T>(1), expected);
  count(copy_by_register<T>, zeros<T>(), zeros<T>(1), expected);
}

CASE(packs_without_alignas, "") {
  count_copies<Pack<__half, 8>>({8, 2, 8, 2});
  count_copies<Pack<__half, 2>>({2, 2, 2, 2});
  count_copies<Pack<float, 4>>({4, 4, 4, 4});
  count_copies<Pack<__half2, 4>>({4, 4, 4, 4});
  count_copies<Pack<unsigned char, 5>>({5, 1, 5, 1});
}
CASE(packs_with_alignas, "") {
  count_copies<AlignedPack<__half, 2>>({1, 4, 1, 4});
  count_copies<AlignedPack<__half, 4>>({1, 8, 1, 8});
  count_copies<AlignedPack<__half, 8>>({1, 16, 1, 16});
  count_copies<AlignedPack<float, 4>>({1, 16, 1, 16});
  count_copies<AlignedPack<float, 8>>({2, 16, 2, 16});
}

struct TwoDoubles {
  double a, b;
};
struct DoubleAndFloats {
  double a;
  float b[2];
};
struct TwoFloat2 {
  float2 a, b;
};
struct Float4AndMore {
  float4 a;
  float b;
};
struct alignas(8) SixFloats {
  float v[6];
};
struct Mixed {
  char a;
  short b;
  int c;
};
CASE(structures_as_their_members_are_aligned, "") {
  count_copies<TwoDoubles>({2, 8, 2, 8});
  count_copies<DoubleAndFloats>({2, 8, 2, 8});
  count_copies<TwoFloat2>({2, 8, 2, 8});
  count_copies<Float4AndMore>({2, 16, 2, 16});
  count_copies<SixFloats>({3, 8, 3, 8});
  count_copies<Mixed>({2, 4, 2, 4});
}
CASE(cudas_own_vectors, "") {
  count_copies<float2>({1, 8, 1, 8});
  count_copies<float3>({3, 4, 3, 4});
  count_copies<float4>({1, 16, 1, 16});
  count_copies<__half2>({1, 4, 1, 4});
  count_copies<__nv_bfloat162>({1, 4, 1, 4});
}

union AlignedUnion {
  float4 f;
  __half h[8];
};
union NarrowUnion {
  float f[4];
  __half h[8];
};
CASE(unions, "") {
  count_copies<AlignedUnion>({1, 16, 1, 16});
  count_copies<NarrowUnion>({4, 4, 4, 4});
}

// ---- By pointers and references to something else

template <typename T>
__global__ void cast(const __half* x, __half* y) {
  const int i = threadIdx.x * static_cast<int>(sizeof(T) / sizeof *x);
  *reinterpret_cast<T*>(y + i) = *reinterpret_cast<const T*>(x + i);
}
template <typename T>
__global__ void cast_reference(const __half* x, __half* y) {
  const int i = threadIdx.x * static_cast<int>(sizeof(T) / sizeof *x);
  const T& from = reinterpret_cast<const T&>(x[i]);
  T& to = reinterpret_cast<T&>(y[i]);
  to = from;
}
CASE(pointers_that_are_cast, "") {
  const __half* x = zeros<__half>();
  __half* y = zeros<__half>(1);
  count(cast<float4>, x, y, {1, 16, 1, 16});
  count(cast<AlignedPack<__half, 8>>, x, y, {1, 16, 1, 16});
  count(cast<Pack<__half, 8>>, x, y, {8, 2, 8, 2});
  count(cast_reference<float4>, x, y, {1, 16, 1, 16});
  count(cast_reference<Pack<float, 4>>, x, y, {4, 4, 4, 4});
}

__global__ void assume(const __half* x, __half* y) {
  using Eight = Pack<__half, 8>;
  const Eight* from = (const Eight*)__builtin_assume_aligned(x + 8 * threadIdx.x, 16);
  Eight* to = (Eight*)__builtin_assume_aligned(y + 8 * threadIdx.x, 16);
  *to = *from;
}
CASE(an_alignment_that_is_promised, "") {
  count(assume, zeros<__half>(), zeros<__half>(1), {1, 16, 1, 16});
}

__global__ void copy_bytes(const float4* x, float4* y) {
  float4 value;
  memcpy(&value, &x[threadIdx.x], sizeof value);
  memcpy(&y[threadIdx.x], &value, sizeof value);
}
__global__ void fill_bytes(const float*, float4* y) {
  memset(&y[threadIdx.x], 0, sizeof *y);
}
CASE(memcpy_goes_by_bytes, "") {  // whatever type it is given
  count(copy_bytes, zeros<float4>(), zeros<float4>(1), {16, 1, 16, 1});
  count(fill_bytes, zeros<float>(), zeros<float4>(1), {0, 0, 16, 1});
}

// ---- What is done with it

template <typename T>
__device__ float sum_of(T pack) {
  float sum = 0;
  for (const auto& element : pack.v) sum += static_cast<float>(element);
  return sum;
}
template <typename T>
__global__ void by_value(const T* x, float* y) {
  y[threadIdx.x] = sum_of(x[threadIdx.x]);
}
template <typename T>
__global__ void held(const T* x, T* y) {
  T packs[2];
  for (int i = 0; i < 2; ++i) packs[i] = x[threadIdx.x + 32 * i];
  for (int i = 0; i < 2; ++i) {
    for (auto& element : packs[i].v) element = -element;
    y[threadIdx.x + 32 * i] = packs[i];
  }
}
CASE(packs_by_value, "") {
  count(by_value<AlignedPack<__half, 8>>, zeros<AlignedPack<__half, 8>>(), zeros<float>(1),
        {1, 16, 1, 4});
  count(by_value<Pack<__half, 8>>, zeros<Pack<__half, 8>>(), zeros<float>(1), {8, 2, 1, 4});
}
CASE(packs_held_in_registers, "") {
  count(held<AlignedPack<float, 4>>, zeros<AlignedPack<float, 4>>(),
        zeros<AlignedPack<float, 4>>(1), {2, 16, 2, 16});
  count(held<Pack<float, 4>>, zeros<Pack<float, 4>>(), zeros<Pack<float, 4>>(1), {8, 4, 8, 4});
}

template <typename T>
__global__ void member_by_member(const T* x, T* y) {
  for (int k = 0; k < 4; ++k) y[threadIdx.x].v[k] = -x[threadIdx.x].v[k];
}
__global__ void one_member(const float4* x, float* y) {
  y[threadIdx.x] = x[threadIdx.x].y;
}
CASE(members, "") {
  using Four = AlignedPack<__half, 4>;
  count(member_by_member<Four>, zeros<Four>(), zeros<Four>(1), {4, 2, 4, 2});
  count(one_member, zeros<float4>(), zeros<float>(1), {1, 4, 1, 4});
}

/// Structures of 12 bytes lie in sectors as the lanes' addresses say.
CASE(sectors_of_pieces, "") {
  simulator::take_traffic();
  simulator::count_requests(true);
  copy<<<1, 32>>>(static_cast<const float3*>(zeros<float3>()), zeros<float3>(1));
  copy<<<1, 32>>>(static_cast<const Pack<__half, 8>*>(zeros<Pack<__half, 8>>()),
                  zeros<Pack<__half, 8>>(1));
  simulator::count_requests(false);
  const auto traffic = simulator::take_traffic();
  for (const simulator::LineTraffic& line : traffic.at(0).lines) assert(line.units == 3 * 12);
  for (const simulator::LineTraffic& line : traffic.at(1).lines) assert(line.units == 8 * 16);
}

/// Two doubles need no address that 16 divides.
template <typename T>
__global__ void copy_one_further(const char* x, T* y) {
  y[threadIdx.x] = *reinterpret_cast<const T*>(x + 8 + sizeof(T) * threadIdx.x);  // here
}
CASE(two_doubles_at_a_multiple_of_8, "") {
  copy_one_further<<<1, 32>>>(zeros<char>(), zeros<TwoDoubles>(1));
}
CASE(float4_at_a_multiple_of_8, "misaligned", {"a multiple of 16"}) {
  copy_one_further<<<1, 32>>>(zeros<char>(), zeros<float4>(1));
}

/// 16 bytes a lane are one request in PTX as well.
__global__ void copy_by_ptx(const float* x, float* y) {
  float4 v;
  asm volatile("ld.global.nc.L1::no_allocate.L2::128B.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
               : "l"(x + 4 * threadIdx.x));
  asm volatile("st.global.cs.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(y + 4 * threadIdx.x), "f"(v.x),
               "f"(v.y), "f"(v.z), "f"(v.w)
               : "memory");
}
CASE(ptx_counts_as_one_request, "") {
  simulator::take_traffic();
  simulator::count_requests(true);
  copy_by_ptx<<<1, 32>>>(zeros<float>(1), zeros<float>());
  simulator::count_requests(false);
  const auto traffic = simulator::take_traffic();
  assert(traffic.at(0).lines.size() == 2);
  for (const simulator::LineTraffic& line : traffic.at(0).lines) {
    assert(line.requests == 1 && line.lane_bytes == 16 && line.units == 16);
  }
}

}  // namespace
