// Exercise 1.5 for the worker: the names that a request has for the arguments.
#include ONEPASS_SUBMISSION

#include "worker/binding.h"

ONEPASS_FUNCTIONS(ONEPASS_EACH_DTYPE("rmsnorm_residual", onepass::rmsnorm_residual<T>, "x",
                                     "x_stride", "residual", "residual_stride", "weight", "sum",
                                     "sum_stride", "y", "y_stride", "rstd", "rows", "cols", "eps"))
