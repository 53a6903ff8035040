// Calls rmsnorm_backward of an implementation (exercise 1.3) with what a request names.
#include ONEPASS_SUBMISSION

#include "worker/binding.h"

namespace onepass {

template <typename T>
void call_rmsnorm_backward(const worker::Arguments& arguments) {
  rmsnorm_backward(arguments.buffer<const T>("dy"), arguments.integer("dy_stride"),
                   arguments.buffer<const T>("x"), arguments.integer("x_stride"),
                   arguments.buffer<const T>("weight"), arguments.buffer<const float>("rstd"),
                   arguments.buffer<T>("dx"), arguments.integer("dx_stride"),
                   arguments.buffer<T>("dweight"), arguments.buffer<float>("scratch"),
                   static_cast<CastOrder>(arguments.integer("order")),
                   static_cast<int>(arguments.integer("rows")),
                   static_cast<int>(arguments.integer("cols")), arguments.stream());
}

}  // namespace onepass

ONEPASS_FUNCTIONS(ONEPASS_EACH_DTYPE("rmsnorm_backward", onepass::call_rmsnorm_backward))
