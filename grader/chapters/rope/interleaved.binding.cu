// Calls rope_interleaved of an implementation (exercise 3.1) with what a request names.
#include ONEPASS_SUBMISSION

#include "worker/binding.h"

namespace onepass {

template <typename T>
void call_rope_interleaved(const worker::Arguments& arguments) {
  rope_interleaved(arguments.buffer<T>("x"), arguments.buffer<const float>("cos"),
                   arguments.buffer<const float>("sin"),
                   static_cast<int>(arguments.integer("tokens")),
                   static_cast<int>(arguments.integer("heads")),
                   static_cast<int>(arguments.integer("head_dim")), arguments.stream());
}

}  // namespace onepass

ONEPASS_FUNCTIONS(ONEPASS_EACH_DTYPE("rope_interleaved", onepass::call_rope_interleaved))
