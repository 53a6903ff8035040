// Warp operations, atomics, caching hints, bits and mathematics.
#include <cassert>

#include <cuda_runtime.h>
#include <device_launch_parameters.h>
#include <math_constants.h>

template <typename T>
__device__ T shuffled(T value) {
  value += __shfl_sync(0xffffffff, value, 0);
  value += __shfl_up_sync(0xffffffff, value, 1);
  value += __shfl_down_sync(0xffffffff, value, 1, 16);
  return value + __shfl_xor_sync(0xffffffff, value, 1);
}

__global__ void warps(int* i, unsigned* u, float* f, double* d, long long* l,
                      unsigned long long* ull) {
  *i += shuffled(*i) + __any_sync(~0u, *i) + __all_sync(~0u, *i) + __reduce_add_sync(~0u, *i);
  *u += shuffled(*u) + __ballot_sync(~0u, *i) + __activemask() + __reduce_or_sync(~0u, *u);
  *f += shuffled(*f);
  *d += shuffled(*d);
  *l += shuffled(*l);
  *ull += shuffled(*ull);
  int all_equal = 0;
  *u += __match_any_sync(~0u, *i) + __match_all_sync(~0u, *f, &all_equal);
  *i += __syncthreads_count(all_equal) + __syncthreads_and(1) + __syncthreads_or(0);
  *u += __reduce_min_sync(~0u, *u) + __reduce_max_sync(~0u, *u) + __reduce_xor_sync(~0u, *u);
  __syncwarp();
  __syncwarp(0xffffffff);
  __threadfence_block();
  __threadfence();
  __threadfence_system();
}

__global__ void atomics(int* i, unsigned* u, float* f, double* d, long long* l,
                        unsigned long long* ull, unsigned short* s) {
  atomicAdd(i, 1);
  atomicAdd(u, 1u);
  atomicAdd(f, 1.0f);
  atomicAdd(d, 1.0);
  atomicAdd(ull, 1ull);
  atomicAdd_block(f, 1.0f);
  atomicAdd_system(u, 1u);
  atomicSub(i, 1);
  atomicExch(f, 2.0f);
  atomicExch(ull, 2ull);
  atomicMin(i, 3);
  atomicMax(l, 3ll);
  atomicInc(u, 7u);
  atomicDec(u, 7u);
  atomicAnd(i, 1);
  atomicOr(u, 1u);
  atomicXor(ull, 1ull);
  atomicCAS(i, 0, 1);
  atomicCAS(ull, 0ull, 1ull);
  const unsigned short zero = 0;
  atomicCAS(s, zero, zero);
}

__global__ void memory(const float4* in, float4* out, const int* i, float* f) {
  float4 v = __ldg(in);
  v.x += __ldcs(in + 1).y + __ldcg(in + 2).z + __ldca(in + 3).w + __ldcv(f) + __ldlu(f + 1);
  __stcs(out, v);
  __stcg(out + 1, make_float4(1.0f, 2.0f, 3.0f, 4.0f));
  __stwb(f, static_cast<float>(__ldg(i)));
  __stwt(f + 1, 2.0f);
}

__global__ void mathematics(float* f, double* d, int* i, unsigned* u, long long* l) {
  float x = *f;
  x += __expf(x) + __logf(x) + __log2f(x) + __log10f(x) + __sinf(x) + __cosf(x) + __tanf(x);
  x += __powf(x, 2.0f) + __fdividef(x, 3.0f) + __saturatef(x) + __exp10f(x) + __frsqrt_rn(x);
  x += rsqrtf(x) + rsqrt(x) + sqrtf(x) + expf(x) + exp2f(x) + log1pf(x) + tanhf(x) + erff(x);
  x += __fmaf_rn(x, x, x) + __fmul_rn(x, x) + __fadd_rn(x, x) + __fsub_rz(x, x) + __frcp_rn(x);
  x += __fsqrt_rn(x) + __fdiv_ru(x, 2.0f) + fmaf(x, x, x) + fmaxf(x, 1.0f) + fminf(x, 1.0f);
  x += max(x, 1.0f) + min(x, 2.0f) + fabsf(x) + CUDART_PI_F + (x == CUDART_INF_F ? 1.0f : 0.0f);
  float sine, cosine;
  __sincosf(x, &sine, &cosine);
  sincosf(x, &sine, &cosine);
  sincospif(x, &sine, &cosine);
  *f = x + sine + cosine;
  *d = rsqrt(*d) + sqrt(*d) + exp(*d) + fma(*d, 2.0, 1.0) + max(*d, 1.0) + sinpi(*d);
  *i = max(*i, 3) + min(*i, 4) + __float_as_int(x) + __float2int_rn(x) + __float2int_rz(x);
  *u = max(*u, 3u) + __float_as_uint(x) + static_cast<unsigned>(__popc(*u)) + __brev(*u) +
       __byte_perm(*u, 1u, 0x3210u) + __umulhi(*u, 3u) + __funnelshift_l(*u, *u, 3);
  *i += __clz(*i) + __ffs(*i) + __popcll(*l) + __clzll(*l) + __mulhi(*i, 3) + abs(*i);
  *l = clock64() + clock() + max(*l, 3ll) + __float2ll_rd(x) + __double_as_longlong(*d);
  *f += __int_as_float(*i) + __uint_as_float(*u) + __int2float_rn(*i) + __double2float_rz(*d);
  __builtin_assume(*i > 0);
  if (isnan(x) || isinf(x)) *f = 0.0f;
  assert(*u != 12345u);
}

int main() { return 0; }
