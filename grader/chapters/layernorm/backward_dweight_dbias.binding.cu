// Exercise 2.3 for the worker: the names that a request has for the arguments.
#include ONEPASS_SUBMISSION

#include "worker/binding.h"

ONEPASS_FUNCTIONS(ONEPASS_EACH_DTYPE("layernorm_backward_dweight_dbias",
                                     onepass::layernorm_backward_dweight_dbias<T>, "dy",
                                     "dy_stride", "x", "x_stride", "mean", "rstd", "dweight",
                                     "dbias", "scratch", "rows", "cols"))
