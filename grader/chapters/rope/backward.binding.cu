// Calls rope_backward of an implementation (exercise 3.2) with what a request names: once with dy
// and dx apart, once with dx in the place of dy.
#include ONEPASS_SUBMISSION

#include "worker/binding.h"

namespace onepass {

template <typename T>
void call_with(const worker::Arguments& arguments, const T* dy, T* dx) {
  rope_backward(dy, arguments.buffer<const float>("cos"), arguments.buffer<const float>("sin"), dx,
                static_cast<int>(arguments.integer("tokens")),
                static_cast<int>(arguments.integer("heads")),
                static_cast<int>(arguments.integer("head_dim")), arguments.stream());
}

template <typename T>
void call_rope_backward(const worker::Arguments& arguments) {
  call_with(arguments, arguments.buffer<const T>("dy"), arguments.buffer<T>("dx"));
}

template <typename T>
void call_rope_backward_in_place(const worker::Arguments& arguments) {
  T* const gradient = arguments.buffer<T>("dx");
  call_with<T>(arguments, gradient, gradient);
}

}  // namespace onepass

ONEPASS_FUNCTIONS(ONEPASS_EACH_DTYPE("rope_backward", onepass::call_rope_backward),
                  ONEPASS_EACH_DTYPE("rope_backward_in_place",
                                     onepass::call_rope_backward_in_place))
