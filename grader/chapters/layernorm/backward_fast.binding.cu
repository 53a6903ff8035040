// Exercise 2.6 for the worker: the names that a request has for the arguments.
#include ONEPASS_SUBMISSION

#include "worker/binding.h"

ONEPASS_FUNCTIONS(ONEPASS_EACH_DTYPE("layernorm_backward_fast", onepass::layernorm_backward_fast<T>,
                                     "dy", "dy_stride", "x", "x_stride", "weight", "mean", "rstd",
                                     "dx", "dx_stride", "dweight", "dbias", "scratch", "rows",
                                     "cols"))
