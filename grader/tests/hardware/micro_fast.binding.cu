// Launches each kernel of micro_fast.cu by its name.
#include ONEPASS_SUBMISSION

#include "tests/hardware/micro_kernels.h"
#include "worker/binding.h"

namespace micro {

template <Kernel kernel>
void call(const onepass::worker::Arguments& arguments) {
  run(kernel, arguments.buffer<const float>("x"), arguments.buffer<float>("y"),
      static_cast<int>(arguments.integer("blocks")), arguments.stream());
}

}  // namespace micro

#define ONEPASS_MICRO_ENTRY(name) {#name, "fp32", micro::call<micro::name>},
ONEPASS_FUNCTIONS(ONEPASS_MICRO_FAST_KERNELS(ONEPASS_MICRO_ENTRY))
