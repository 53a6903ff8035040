// Exercise 2.5 for the worker: the names that a request has for the arguments.
#include ONEPASS_SUBMISSION

#include "worker/binding.h"

ONEPASS_FUNCTIONS(ONEPASS_EACH_DTYPE("layernorm_forward_fast", onepass::layernorm_forward_fast<T>,
                                     "x", "x_stride", "weight", "bias", "y", "y_stride", "mean",
                                     "rstd", "rows", "cols", "eps"))
