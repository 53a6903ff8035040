#include ONEPASS_SUBMISSION

#include "library/part.h"

ONEPASS_PART(layernorm_forward_fast, onepass_layernorm_forward, onepass::layernorm_forward_fast<T>)
