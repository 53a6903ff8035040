#include ONEPASS_SUBMISSION

#include "library/part.h"

ONEPASS_PART(layernorm_backward_fused, onepass_layernorm_backward, onepass::layernorm_backward<T>)
