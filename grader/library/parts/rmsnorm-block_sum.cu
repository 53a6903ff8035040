#include ONEPASS_SUBMISSION

#include "library/part.h"

ONEPASS_PART(rmsnorm_block_sum, onepass_block_sum, onepass::block_sum<T>)
