// Exercise 1.7 for the worker: the names that a request has for the arguments.
#include ONEPASS_SUBMISSION

#include "worker/binding.h"

ONEPASS_FUNCTIONS(ONEPASS_EACH_DTYPE("rmsnorm_wide_rows", onepass::rmsnorm_wide_rows<T>, "x",
                                     "x_stride", "weight", "y", "y_stride", "rstd", "rows", "cols",
                                     "eps"))
