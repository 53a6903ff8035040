#include ONEPASS_SUBMISSION

#include "library/part.h"

ONEPASS_PART(batchnorm_forward, onepass::library::batchnorm_without_scratch,
             onepass::batchnorm_forward<T>)
