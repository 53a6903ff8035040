// Exercise 2.1 for the worker: the names that a request has for the arguments.
#include ONEPASS_SUBMISSION

#include "worker/binding.h"

ONEPASS_FUNCTIONS(ONEPASS_EACH_DTYPE("layernorm_forward", onepass::layernorm_forward<T>, "x",
                                     "x_stride", "weight", "bias", "y", "y_stride", "mean", "rstd",
                                     "rows", "cols", "eps"))
