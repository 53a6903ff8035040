#include ONEPASS_SUBMISSION

#include "library/part.h"

ONEPASS_ROPE_PART(rope_qk_norm, onepass_rope_qk_norm, onepass::rope_qk_norm<T, Table, Position>)
