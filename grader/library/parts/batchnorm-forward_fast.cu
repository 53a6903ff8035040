#include ONEPASS_SUBMISSION

#include "library/part.h"

ONEPASS_PART(batchnorm_forward_fast, onepass_batchnorm_forward, onepass::batchnorm_forward_fast<T>)
