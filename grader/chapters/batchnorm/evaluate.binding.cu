// Calls batchnorm_evaluate of an implementation (exercise 4.2) with what a request names.
#include ONEPASS_SUBMISSION

#include "worker/binding.h"

namespace onepass {

template <typename T>
void call_batchnorm_evaluate(const worker::Arguments& arguments) {
  batchnorm_evaluate(
      arguments.buffer<const T>("x"), arguments.buffer<const T>("weight"),
      arguments.buffer<const T>("bias"), arguments.buffer<const float>("running_mean"),
      arguments.buffer<const float>("running_var"), arguments.buffer<T>("y"),
      static_cast<int>(arguments.integer("batch")), static_cast<int>(arguments.integer("channels")),
      static_cast<int>(arguments.integer("space")), static_cast<float>(arguments.real("eps")),
      arguments.stream());
}

}  // namespace onepass

ONEPASS_FUNCTIONS(ONEPASS_EACH_DTYPE("batchnorm_evaluate", onepass::call_batchnorm_evaluate))
