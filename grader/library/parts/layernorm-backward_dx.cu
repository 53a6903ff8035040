#include ONEPASS_SUBMISSION

#include "library/part.h"

ONEPASS_PART(layernorm_backward_dx, onepass_layernorm_backward_dx,
             onepass::layernorm_backward_dx<T>)
