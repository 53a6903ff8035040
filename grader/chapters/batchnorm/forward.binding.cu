// Calls batchnorm_forward of an implementation (exercise 4.1) with what a request names.
#include ONEPASS_SUBMISSION

#include "worker/binding.h"

namespace onepass {

template <typename T>
void call_batchnorm_forward(const worker::Arguments& arguments) {
  batchnorm_forward(
      arguments.buffer<const T>("x"), arguments.buffer<const T>("weight"),
      arguments.buffer<const T>("bias"), arguments.buffer<T>("y"),
      arguments.buffer<float>("running_mean"), arguments.buffer<float>("running_var"),
      arguments.buffer<float>("save_mean"), arguments.buffer<float>("save_rstd"),
      static_cast<int>(arguments.integer("batch")), static_cast<int>(arguments.integer("channels")),
      static_cast<int>(arguments.integer("space")), static_cast<float>(arguments.real("eps")),
      static_cast<float>(arguments.real("momentum")), arguments.stream());
}

}  // namespace onepass

ONEPASS_FUNCTIONS(ONEPASS_EACH_DTYPE("batchnorm_forward", onepass::call_batchnorm_forward))
