// The backward pass of exercise 1.6, for module.py.
#include "../../../solutions/01_rmsnorm/backward_fast.cu"

#include "library.h"

extern "C" int onepass_rmsnorm_backward(int dtype, const void* dy, int64_t dy_stride, const void* x,
                                        int64_t x_stride, const void* weight, const float* rstd,
                                        void* dx, int64_t dx_stride, void* dweight, float* scratch,
                                        int llama_order, int rows, int cols, cudaStream_t stream) {
  const auto order =
      llama_order != 0 ? onepass::CastOrder::llama : onepass::CastOrder::weight_in_fp32;
  return with_type(dtype, [&](auto type) {
    using T = decltype(type);
    onepass::rmsnorm_backward_fast(static_cast<const T*>(dy), dy_stride, static_cast<const T*>(x),
                                   x_stride, static_cast<const T*>(weight), rstd,
                                   static_cast<T*>(dx), dx_stride, static_cast<T*>(dweight),
                                   scratch, order, rows, cols, stream);
  });
}

extern "C" int64_t onepass_rmsnorm_scratch_size(int rows, int cols) {
  return onepass::rmsnorm_scratch_size(rows, cols);
}
