// Exercise 2.4 for the worker: the names that a request has for the arguments.
#include ONEPASS_SUBMISSION

#include "worker/binding.h"

ONEPASS_FUNCTIONS(ONEPASS_EACH_DTYPE("layernorm_backward", onepass::layernorm_backward<T>, "dy",
                                     "dy_stride", "x", "x_stride", "weight", "mean", "rstd", "dx",
                                     "dx_stride", "dweight", "dbias", "scratch", "rows", "cols"))
