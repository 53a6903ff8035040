// Exercise 2.2 for the worker: from named buffers and scalars to the contract's function.
#include ONEPASS_SUBMISSION

#include "worker/binding.h"

namespace onepass {

template <typename T>
void call_layernorm_backward_dx(const worker::Arguments& arguments) {
  layernorm_backward_dx(arguments.buffer<const T>("dy"), arguments.integer("dy_stride"),
                        arguments.buffer<const T>("x"), arguments.integer("x_stride"),
                        arguments.buffer<const T>("weight"), arguments.buffer<const float>("mean"),
                        arguments.buffer<const float>("rstd"), arguments.buffer<T>("dx"),
                        arguments.integer("dx_stride"), static_cast<int>(arguments.integer("rows")),
                        static_cast<int>(arguments.integer("cols")), arguments.stream());
}

}  // namespace onepass

ONEPASS_FUNCTIONS(ONEPASS_EACH_DTYPE("layernorm_backward_dx", onepass::call_layernorm_backward_dx))
