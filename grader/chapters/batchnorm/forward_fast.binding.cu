// Exercise 4.3 for the worker: the names that a request has for the arguments.
#include ONEPASS_SUBMISSION

#include "worker/binding.h"

ONEPASS_FUNCTIONS(ONEPASS_EACH_DTYPE("batchnorm_forward_fast", onepass::batchnorm_forward_fast<T>,
                                     "x", "weight", "bias", "y", "running_mean", "running_var",
                                     "save_mean", "save_rstd", "scratch", "batch", "channels",
                                     "space", "eps", "momentum"))
