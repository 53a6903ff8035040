// __half, __nv_bfloat16 and their pairs.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

template <typename T, typename T2>
__global__ void both(T* x, T2* pairs, float* f) {
  __shared__ T tile[64];
  __shared__ T2 pair_tile[32];
  tile[threadIdx.x] = x[threadIdx.x];
  pair_tile[threadIdx.x] = __ldg(&pairs[threadIdx.x]);
  __syncthreads();
  T a = tile[0];
  T b = static_cast<T>(static_cast<float>(a) + 1.0f);
  a += b;
  a = -a * b / a - b;
  if (a > b || a == b || a != b) ++a;
  a = __hadd(a, b);
  a = __hsub(__hmul(a, b), __hdiv(a, b));
  a = __hfma(a, b, __hmax(a, __hmin(a, b)));
  a = hrsqrt(hexp(hsqrt(hlog(hrcp(__habs(__hneg(a)))))));
  a += hsin(a) + hcos(a) + hexp2(a) + hceil(a) + hfloor(a) + hrint(a) + htrunc(a);
  if (__hisnan(a) || __hisinf(a) || __hgt(a, b) || __hle(a, b)) a = b;
  a += __shfl_xor_sync(0xffffffff, a, 1) + __shfl_down_sync(0xffffffff, a, 2);
  T2 p = pair_tile[1];
  p = __hfma2(p, p, __hadd2(p, __hmul2(p, __hsub2(p, p))));
  p = h2rsqrt(p * p + p) - h2exp(p);
  p += __shfl_sync(0xffffffff, p, 0);
  p = __hmax2(p, __hmin2(p, __h2div(p, p)));
  if (__hbeq2(p, p)) p.x = p.y;
  f[0] = __low2float(p) + __high2float(p) + float(a) + (a ? 1.0f : 0.0f);
  atomicAdd(x, a);
  atomicAdd(pairs, p);
  __stcs(pairs + 1, p);
  x[1] = 1.0f;
  x[2] = 2;
  x[3] = 3.0;
}

__global__ void half_names(__half* h, half2* h2, float2* f2) {
  *h2 = __float22half2_rn(*f2);
  *f2 = __half22float2(*h2);
  *h2 = __floats2half2_rn(1.0f, 2.0f);
  *h2 = __halves2half2(__low2half(*h2), __high2half(*h2));
  *h2 = __half2half2(__float2half(3.0f));
  *h2 = make_half2(*h, *h);
  *h = __float2half_rn(1.0f);
  *h = __float2half_rz(__half2float(*h));
  *h = __int2half_rn(__half2int_rz(*h));
  *h = __ushort_as_half(__half_as_ushort(*h));
  *h = __double2half(1.0) + half(2.0f) + __half(3);
}

__global__ void bfloat16_names(__nv_bfloat16* b, __nv_bfloat162* b2, float2* f2) {
  *b2 = __float22bfloat162_rn(*f2);
  *f2 = __bfloat1622float2(*b2);
  *b2 = __floats2bfloat162_rn(1.0f, 2.0f);
  *b2 = __halves2bfloat162(__low2bfloat16(*b2), __high2bfloat16(*b2));
  *b2 = __bfloat162bfloat162(__float2bfloat16(3.0f));
  *b = __float2bfloat16_rn(__bfloat162float(*b));
  *b = __ushort_as_bfloat16(__bfloat16_as_ushort(*b));
  *b = __nv_bfloat16(__half(1.0f));
}

int main() {
  both<__half, __half2><<<1, 32>>>(nullptr, nullptr, nullptr);
  both<__nv_bfloat16, __nv_bfloat162><<<1, 32>>>(nullptr, nullptr, nullptr);
  half_names<<<1, 1>>>(nullptr, nullptr, nullptr);
  bfloat16_names<<<1, 1>>>(nullptr, nullptr, nullptr);
}
