#include ONEPASS_SUBMISSION

#include "library/part.h"

ONEPASS_PART(layernorm_backward_dweight_dbias, onepass_layernorm_backward_dweight_dbias,
             onepass::layernorm_backward_dweight_dbias<T>)
