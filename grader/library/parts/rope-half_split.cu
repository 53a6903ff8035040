#include ONEPASS_SUBMISSION

#include "library/part.h"

ONEPASS_ROPE_PART(rope_half_split, onepass::library::rope_of_split_halves,
                  onepass::rope_half_split<T, Table, Position>)
