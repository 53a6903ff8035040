// Exercise 4.2 for the worker: the names that a request has for the arguments.
#include ONEPASS_SUBMISSION

#include "worker/binding.h"

ONEPASS_FUNCTIONS(ONEPASS_EACH_DTYPE("batchnorm_evaluate", onepass::batchnorm_evaluate<T>, "x",
                                     "weight", "bias", "running_mean", "running_var", "y", "batch",
                                     "channels", "space", "eps"))
