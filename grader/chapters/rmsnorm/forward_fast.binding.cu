// Calls rmsnorm_forward_fast of an implementation (exercise 1.4) with what a request names.
#include ONEPASS_SUBMISSION

#include "worker/binding.h"

namespace onepass {

template <typename T>
void call_rmsnorm_forward_fast(const worker::Arguments& arguments) {
  rmsnorm_forward_fast(arguments.buffer<const T>("x"), arguments.integer("x_stride"),
                       arguments.buffer<const T>("weight"), arguments.buffer<T>("y"),
                       arguments.integer("y_stride"), arguments.buffer<float>("rstd"),
                       static_cast<int>(arguments.integer("rows")),
                       static_cast<int>(arguments.integer("cols")),
                       static_cast<float>(arguments.real("eps")), arguments.stream());
}

}  // namespace onepass

ONEPASS_FUNCTIONS(ONEPASS_EACH_DTYPE("rmsnorm_forward_fast", onepass::call_rmsnorm_forward_fast))
