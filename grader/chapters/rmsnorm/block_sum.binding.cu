// Calls block_sum of an implementation (exercise 1.1) with what a request names.
#include ONEPASS_SUBMISSION

#include "worker/binding.h"

namespace onepass {

template <typename T>
void call_block_sum(const worker::Arguments& arguments) {
  block_sum(arguments.buffer<const T>("x"), arguments.integer("x_stride"),
            arguments.buffer<float>("sums"), static_cast<int>(arguments.integer("rows")),
            static_cast<int>(arguments.integer("cols")), arguments.stream());
}

}  // namespace onepass

ONEPASS_FUNCTIONS(ONEPASS_EACH_DTYPE("block_sum", onepass::call_block_sum))
