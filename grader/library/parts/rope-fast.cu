#include ONEPASS_SUBMISSION

#include "library/part.h"

ONEPASS_ROPE_PART(rope_fast, onepass_rope, onepass::rope_fast<T, Table, Position>)
