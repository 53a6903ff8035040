// Exercise 2.1 for the worker: from named buffers and scalars to the contract's function.
#include ONEPASS_SUBMISSION

#include "worker/binding.h"

namespace onepass {

template <typename T>
void call_layernorm_forward(const worker::Arguments& arguments) {
  layernorm_forward(arguments.buffer<const T>("x"), arguments.integer("x_stride"),
                    arguments.buffer<const T>("weight"), arguments.buffer<const T>("bias"),
                    arguments.buffer<T>("y"), arguments.integer("y_stride"),
                    arguments.buffer<float>("mean"), arguments.buffer<float>("rstd"),
                    static_cast<int>(arguments.integer("rows")),
                    static_cast<int>(arguments.integer("cols")),
                    static_cast<float>(arguments.real("eps")), arguments.stream());
}

}  // namespace onepass

ONEPASS_FUNCTIONS(ONEPASS_EACH_DTYPE("layernorm_forward", onepass::call_layernorm_forward))
