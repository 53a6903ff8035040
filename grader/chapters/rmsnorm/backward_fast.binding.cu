// Exercise 1.6 for the worker: the names that a request has for the arguments.
#include ONEPASS_SUBMISSION

#include "worker/binding.h"

ONEPASS_FUNCTIONS(ONEPASS_EACH_DTYPE("rmsnorm_backward_fast", onepass::rmsnorm_backward_fast<T>,
                                     "dy", "dy_stride", "x", "x_stride", "weight", "rstd", "dx",
                                     "dx_stride", "dweight", "scratch", "order", "rows", "cols"))
