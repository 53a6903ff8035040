#include ONEPASS_SUBMISSION

#include "library/part.h"

ONEPASS_PART(rope_backward, onepass_rope_backward, onepass::rope_backward<T>)
