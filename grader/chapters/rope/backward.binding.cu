// Exercise 3.2 for the worker: the names that a request has for the arguments.
#include ONEPASS_SUBMISSION

#include "worker/binding.h"

ONEPASS_FUNCTIONS(ONEPASS_EACH_DTYPE("rope_backward", onepass::rope_backward<T>, "dy", "cos", "sin",
                                     "dx", "tokens", "heads", "head_dim"))
