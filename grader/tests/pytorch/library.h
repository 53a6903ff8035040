// What module.py calls through ctypes: RMSNorm of the solutions, for a tensor type that is known
// only at run time. All functions return a cudaError_t, 0 if all is well; tensors lie as
// onepass/rmsnorm.h says.
#pragma once

#include <onepass/rmsnorm.h>

#include <cstdint>

/// Numbers that module.py knows too.
enum OnepassDtype { kOnepassFp32 = 0, kOnepassFp16 = 1, kOnepassBf16 = 2 };

/// Calls f(T{}) with the type of that number.
template <typename F>
cudaError_t with_type(int dtype, const F& f) {
  switch (dtype) {
    case kOnepassFp32:
      f(float{});
      break;
    case kOnepassFp16:
      f(__half{});
      break;
    case kOnepassBf16:
      f(__nv_bfloat16{});
      break;
    default:
      return cudaErrorInvalidValue;
  }
  return cudaGetLastError();
}

extern "C" {
int onepass_rmsnorm_forward(int dtype, const void* x, int64_t x_stride, const void* weight, void* y,
                            int64_t y_stride, float* rstd, int rows, int cols, float eps,
                            cudaStream_t stream);

int onepass_rmsnorm_backward(int dtype, const void* dy, int64_t dy_stride, const void* x,
                             int64_t x_stride, const void* weight, const float* rstd, void* dx,
                             int64_t dx_stride, void* dweight, float* scratch, int llama_order,
                             int rows, int cols, cudaStream_t stream);

/// In fp32 numbers.
int64_t onepass_rmsnorm_scratch_size(int rows, int cols);

/// "cudaErrorInvalidValue"
const char* onepass_error_name(int error);
}
