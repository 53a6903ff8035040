// Calls rmsnorm_residual of an implementation (exercise 1.5) with what a request names. A sum that
// is not there is residual itself, a y that is not there is x: the call works in place.
#include ONEPASS_SUBMISSION

#include "worker/binding.h"

namespace onepass {

template <typename T>
void call_rmsnorm_residual(const worker::Arguments& arguments) {
  T* x = arguments.buffer<T>("x");
  T* residual = arguments.buffer<T>("residual");
  T* sum = arguments.buffer<T>("sum");
  T* y = arguments.buffer<T>("y");
  rmsnorm_residual<T>(x, arguments.integer("x_stride"), residual,
                      arguments.integer("residual_stride"), arguments.buffer<const T>("weight"),
                      sum != nullptr ? sum : residual, arguments.integer("sum_stride"),
                      y != nullptr ? y : x, arguments.integer("y_stride"),
                      arguments.buffer<float>("rstd"), static_cast<int>(arguments.integer("rows")),
                      static_cast<int>(arguments.integer("cols")),
                      static_cast<float>(arguments.real("eps")), arguments.stream());
}

}  // namespace onepass

ONEPASS_FUNCTIONS(ONEPASS_EACH_DTYPE("rmsnorm_residual", onepass::call_rmsnorm_residual))
