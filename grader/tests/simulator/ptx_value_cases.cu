// What PTX instructions give, bit for bit. The table is the simulator's (rewriter/ptx_table.cpp).
#include <cassert>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "tests/simulator/case_kernels.h"

namespace {

uint32_t bits_of(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}

/// Runs `kernel` in one thread, and gives what it leaves in out[0].
template <typename Kernel, typename... Arguments>
uint64_t result_of(Kernel kernel, Arguments... arguments) {
  uint64_t* out = zeros<uint64_t>();
  kernel<<<1, 1>>>(out, arguments...);
  uint64_t result = 0;
  cudaMemcpy(&result, out, sizeof result, cudaMemcpyDeviceToHost);
  return result;
}

// Kernels of one instruction, of one or two floats.
__global__ void to_halves(uint64_t* out, float a, float b) {
  uint32_t d;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(d) : "f"(a), "f"(b));
  *out = d;
}
__global__ void to_bfloats(uint64_t* out, float a, float b) {
  uint32_t d;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(d) : "f"(a), "f"(b));
  *out = d;
}
__global__ void to_bfloats_rz(uint64_t* out, float a, float b) {
  uint32_t d;
  asm("cvt.rz.bf16x2.f32 %0, %1, %2;" : "=r"(d) : "f"(a), "f"(b));
  *out = d;
}
__global__ void to_finite_halves(uint64_t* out, float a, float b) {
  uint32_t d;
  asm("cvt.rn.satfinite.f16x2.f32 %0, %1, %2;" : "=r"(d) : "f"(a), "f"(b));
  *out = d;
}
__global__ void to_half(uint64_t* out, float a, float) {
  uint16_t d;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(d) : "f"(a));
  *out = d;
}
__global__ void to_half_rz(uint64_t* out, float a, float) {
  uint16_t d;
  asm("cvt.rz.f16.f32 %0, %1;" : "=h"(d) : "f"(a));
  *out = d;
}
__global__ void to_finite_bfloat(uint64_t* out, float a, float) {
  uint16_t d;
  asm("cvt.rn.satfinite.bf16.f32 %0, %1;" : "=h"(d) : "f"(a));
  *out = d;
}
__global__ void to_e4m3s(uint64_t* out, float a, float b) {
  uint16_t d;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(d) : "f"(a), "f"(b));
  *out = d;
}
__global__ void to_e5m2s(uint64_t* out, float a, float b) {
  uint16_t d;
  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(d) : "f"(a), "f"(b));
  *out = d;
}
__global__ void from_e4m3s(uint64_t* out, uint16_t pair) {
  uint32_t d;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(d) : "h"(pair));
  *out = d;
}
__global__ void to_bytes(uint64_t* out, float a, float) {
  uint32_t d;
  asm("cvt.rni.sat.s8.f32 %0, %1;" : "=r"(d) : "f"(a));
  *out = d;
}
__global__ void fused(uint64_t* out, float a, float b) {
  uint32_t d;
  asm("fma.rn.f32 %0, %1, %2, 0fBF800000;" : "=r"(d) : "f"(a), "f"(b));
  *out = d;
}
__global__ void power(uint64_t* out, float a, float) {
  uint32_t d;
  asm("ex2.approx.f32 %0, %1;" : "=r"(d) : "f"(a));
  *out = d;
}
__global__ void power_flushed(uint64_t* out, float a, float) {
  uint32_t d;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=r"(d) : "f"(a));
  *out = d;
}
__global__ void reciprocal_flushed(uint64_t* out, float a, float) {
  uint32_t d;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=r"(d) : "f"(a));
  *out = d;
}
__global__ void root(uint64_t* out, float a, float) {
  uint32_t d;
  asm("rsqrt.approx.f32 %0, %1;" : "=r"(d) : "f"(a));
  *out = d;
}
__global__ void smaller(uint64_t* out, float a, float b) {
  uint32_t d;
  asm("min.f32 %0, %1, %2;" : "=r"(d) : "f"(a), "f"(b));
  *out = d;
}
__global__ void larger(uint64_t* out, float a, float b) {
  uint32_t d;
  asm("max.f32 %0, %1, %2;" : "=r"(d) : "f"(a), "f"(b));
  *out = d;
}
__global__ void chosen(uint64_t* out, float a, float b) {
  uint32_t d;
  asm("{ .reg .pred p; setp.gt.f32 p, %1, %2; selp.f32 %0, %1, %2, p; }"
      : "=r"(d)
      : "f"(a), "f"(b));
  *out = d;
}

CASE(ptx_conversions, "") {
  // Of a pair the first operand is the upper half.
  assert(result_of(to_halves, 1.0f, 2.0f) == 0x3c004000);
  assert(result_of(to_bfloats, 1.0f, -2.0f) == 0x3f80c000);
  assert(result_of(to_bfloats, 1.00390625f, 1.01171875f) == 0x3f803f82);  // ties to even
  assert(result_of(to_bfloats_rz, 1.0117f, -1.0117f) == 0x3f81bf81);
  assert(result_of(to_half, 65519.0f, 0.0f) == 0x7bff);
  assert(result_of(to_half, 65520.0f, 0.0f) == 0x7c00);
  assert(result_of(to_half_rz, 1e9f, 0.0f) == 0x7bff);
  assert(result_of(to_half, NAN, 0.0f) == 0x7fff);
  assert(result_of(to_finite_halves, 1e9f, -INFINITY) == 0x7bfffbff);
  assert(result_of(to_finite_bfloat, INFINITY, 0.0f) == 0x7f7f);
  assert(result_of(to_finite_bfloat, NAN, 0.0f) == 0x7fff);
  assert(result_of(to_e4m3s, 1.0f, -2.0f) == 0x38c0);
  assert(result_of(to_e4m3s, 1e9f, NAN) == 0x7e7f);
  assert(result_of(to_e4m3s, 17.0f, 0x1p-10f) == 0x5800);  // ties to even, also below the least
  assert(result_of(to_e5m2s, 1.0f, -INFINITY) == 0x3cfb);
  assert(result_of(from_e4m3s, uint16_t{0x3801}) == 0x3c001800);
  assert(result_of(from_e4m3s, uint16_t{0x7fc0}) == 0x7fffc000);
  assert(result_of(to_bytes, 127.5f, 0.0f) == 127);
  assert(result_of(to_bytes, -1.5f, 0.0f) == 0xfffffffe);  // the register gets the number
  assert(result_of(to_bytes, -1e9f, 0.0f) == 0xffffff80);
}
CASE(ptx_arithmetic, "") {
  const float a = 1.0f + 0x1p-12f;  // a * a - 1 = 2^-11 + 2^-24: rounded once
  assert(result_of(fused, a, a) == bits_of(0x1p-11f + 0x1p-24f));
  const auto tiny = static_cast<float>(result_of(power, -126.5f, 0.0f));  // its bits: a denormal
  assert(std::abs(tiny / static_cast<float>(bits_of(std::exp2(-126.5f))) - 1) < 0x1p-21f);
  assert(result_of(power_flushed, -126.5f, 0.0f) == 0);
  assert(result_of(reciprocal_flushed, -0x1p127f, 0.0f) == 0x80000000);
  assert(result_of(reciprocal_flushed, 0x1p-130f, 0.0f) == bits_of(INFINITY));
  assert(result_of(root, 4.0f, 0.0f) == bits_of(0.5f));
  assert(result_of(larger, NAN, 2.0f) == bits_of(2.0f));
  for (const float zero : {0.0f, -0.0f}) {  // the negative one is the smaller
    assert(result_of(larger, zero, -zero) == bits_of(0.0f));
    assert(result_of(smaller, zero, -zero) == bits_of(-0.0f));
  }
  assert(result_of(chosen, 1.0f, 2.0f) == bits_of(2.0f));
  assert(result_of(chosen, NAN, 2.0f) == bits_of(2.0f));
}

// ---- Registers: packed, widened, shifted

__global__ void pack(uint64_t* out, uint16_t low, uint16_t high) {
  uint32_t pair;
  uint16_t first, second;
  asm("mov.b32 %0, {%1, %2};" : "=r"(pair) : "h"(low), "h"(high));
  asm("mov.b32 {%0, %1}, %2;" : "=h"(first), "=h"(second) : "r"(pair));
  asm("mov.b64 %0, {%1, %2};" : "=l"(*out) : "r"(pair), "r"((first << 16) | second));
}
__global__ void halves(uint64_t* out, uint32_t a, uint32_t b) {
  uint32_t sum;
  asm("{ .reg .b32 t;\n\tadd.rn.f16x2 t, %1, %2; fma.rn.f16x2 %0, t, %1, %2; }"
      : "=r"(sum)
      : "r"(a), "r"(b));
  *out = sum;
}
__global__ void bytes(uint64_t* out, const signed char* p) {
  int32_t is_signed;
  uint32_t is_not;
  asm("ld.global.s8 %0, [%1];" : "=r"(is_signed) : "l"(p));
  asm("ld.global.u8 %0, [%1];" : "=r"(is_not) : "l"(p));
  int64_t wide;
  asm("ld.global.s8 %0, [%1];" : "=l"(wide) : "l"(p));
  *out = wide == -2 ? static_cast<uint64_t>(is_not) << 32 | static_cast<uint32_t>(is_signed) : 0;
}
__global__ void shifted(uint64_t* out, int value, unsigned by) {
  int right;
  unsigned left;
  asm("shr.s32 %0, %1, %2;" : "=r"(right) : "r"(value), "r"(by));
  asm("shl.b32 %0, %1, %2;" : "=r"(left) : "r"(value), "r"(by));
  *out = static_cast<uint64_t>(left) << 32 | static_cast<uint32_t>(right);
}
__global__ void lanes(uint64_t* out) {
  uint32_t lane, thread;
  asm volatile("mov.u32 %0, %%laneid; mov.u32 %1, %%tid.x;" : "=r"(lane), "=r"(thread));
  if (thread == 37) *out = lane;
}
CASE(ptx_registers, "") {
  assert(result_of(pack, uint16_t{0x1234}, uint16_t{0x5678}) == 0x1234567856781234);
  assert(result_of(halves, 0x3c004000u, 0x40003c00u) == 0x45004700);
  const signed char minus_two = -2;
  signed char* byte = zeros<signed char>(1);
  cudaMemcpy(byte, &minus_two, 1, cudaMemcpyHostToDevice);
  assert(result_of(bytes, byte) == 0x000000fefffffffe);
  assert(result_of(shifted, -8, 1u) == 0xfffffff0fffffffc);
  assert(result_of(shifted, -8, 40u) == 0x00000000ffffffff);
  uint64_t* out = zeros<uint64_t>();
  lanes<<<1, 64>>>(out);
  uint64_t lane = 0;
  cudaMemcpy(&lane, out, sizeof lane, cudaMemcpyDeviceToHost);
  assert(lane == 5);
}

__global__ void exchanged(uint64_t* out, int* word) {
  int before, other;
  asm volatile("atom.global.exch.b32 %0, [%1], %2;" : "=r"(before) : "l"(word), "r"(7) : "memory");
  asm volatile("atom.relaxed.gpu.global.cas.b32 %0, [%1], %2, %3;"
               : "=r"(other)
               : "l"(word), "r"(7), "r"(9)
               : "memory");
  *out = static_cast<uint64_t>(before) << 32 | static_cast<uint64_t>(other) << 16 |
         static_cast<uint64_t>(*word);
}
/// The inner t is another register.
__global__ void nested(uint64_t* out) {
  asm("{ .reg .b64 t; mov.b64 t, 1; { .reg .b64 t; mov.b64 t, 2; mov.b64 %0, t; }\n"
      "  add.u64 %0, %0, t; }"
      : "=l"(*out));
}
CASE(ptx_scopes, "") {
  assert(result_of(nested) == 3);
}

CASE(ptx_exchanges, "") {
  assert(result_of(exchanged, zeros<int>(1)) == 0x0000000000070009);
}

// ---- What a statement may look like

#define LOAD(result, pointer) \
  asm volatile("ld.global.f32 %0, [%1];" : "=f"(result) : "l"(pointer) : "memory")
__global__ void written_in_many_ways(uint64_t* out, const float* x) {
  float a, b, c = 1;
  if (threadIdx.x == 0)
    LOAD(a, x);
  else
    LOAD(a, x + 1);
  __asm__ __volatile__(R"(
    // a comment; with a semicolon
    ld.global.f32 %0, [%1]; /* and
    another */)"
                       : "=f"(b)
                       : "l"(x));
  asm("fma.rn.f32 %0, %1, 2.0, %0;" : "+f"(c) : "f"(a + b));
  asm volatile("" ::: "memory");
  asm volatile("prefetch.global.L2 [%0];" ::"l"(x));
  asm("mov.b64 %0, %1;" : "=d"(*reinterpret_cast<double*>(out)) : "l"(7ll));
  asm("add.u64 %0, %0, %1;" : "+l"(*out) : "n"(sizeof(float)));
  *out += static_cast<uint64_t>(c);
}
CASE(ptx_written_in_many_ways, "") {
  const float values[2] = {3, 5};
  float* x = zeros<float>(1);
  cudaMemcpy(x, values, sizeof values, cudaMemcpyHostToDevice);
  assert(result_of(written_in_many_ways, static_cast<const float*>(x)) == 7 + 4 + 13);
}

}  // namespace
