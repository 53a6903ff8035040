// Exercise 3.1 for the worker: the names that a request has for the arguments.
#include ONEPASS_SUBMISSION

#include "worker/binding.h"

ONEPASS_FUNCTIONS(ONEPASS_EACH_DTYPE("rope_interleaved", onepass::rope_interleaved<T>, "x", "cos",
                                     "sin", "tokens", "heads", "head_dim"))
