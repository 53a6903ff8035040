// Exercise 1.1 for the worker: the names that a request has for the arguments.
#include ONEPASS_SUBMISSION

#include "worker/binding.h"

ONEPASS_FUNCTIONS(ONEPASS_EACH_DTYPE("block_sum", onepass::block_sum<T>, "x", "x_stride", "sums",
                                     "rows", "cols"))
