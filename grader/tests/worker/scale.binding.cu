// Calls scale() of scale.cu with what a request names.
#include ONEPASS_SUBMISSION

#include "worker/binding.h"

namespace scale_test {

inline void call_scale(const onepass::worker::Arguments& arguments) {
  scale(arguments.buffer<const float>("x"), arguments.buffer<float>("y"),
        arguments.integer("stride"), static_cast<int>(arguments.integer("rows")),
        static_cast<int>(arguments.integer("cols")), static_cast<float>(arguments.real("factor")),
        static_cast<int>(arguments.integer("mode")), arguments.stream());
}

}  // namespace scale_test

ONEPASS_FUNCTIONS({"scale", "fp32", scale_test::call_scale})
