#include ONEPASS_SUBMISSION

#include "library/part.h"

ONEPASS_PART(layernorm_forward, onepass_layernorm_forward, onepass::layernorm_forward<T>)
