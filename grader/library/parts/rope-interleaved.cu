#include ONEPASS_SUBMISSION

#include "library/part.h"

ONEPASS_PART(rope_interleaved, onepass_rope_interleaved, onepass::rope_interleaved<T>)
