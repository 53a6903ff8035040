// Exercise 2.4 for the worker: from named buffers and scalars to the contract's function.
#include ONEPASS_SUBMISSION

#include "chapters/layernorm/summation.h"
#include "worker/binding.h"

namespace onepass {

template <typename T>
void call_layernorm_backward(const worker::Arguments& arguments) {
  const Summation summation = layernorm_backward(
      arguments.buffer<const T>("dy"), arguments.integer("dy_stride"),
      arguments.buffer<const T>("x"), arguments.integer("x_stride"),
      arguments.buffer<const T>("weight"), arguments.buffer<const float>("mean"),
      arguments.buffer<const float>("rstd"), arguments.buffer<T>("dx"),
      arguments.integer("dx_stride"), arguments.buffer<T>("dweight"), arguments.buffer<T>("dbias"),
      arguments.buffer<float>("scratch"), static_cast<int>(arguments.integer("rows")),
      static_cast<int>(arguments.integer("cols")), arguments.stream());
  tell(summation, arguments);
}

}  // namespace onepass

ONEPASS_FUNCTIONS(ONEPASS_EACH_DTYPE("layernorm_backward", onepass::call_layernorm_backward))
