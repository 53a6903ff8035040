#include ONEPASS_SUBMISSION

#include "library/part.h"

ONEPASS_PART(batchnorm_evaluate, onepass_batchnorm_evaluate, onepass::batchnorm_evaluate<T>)
