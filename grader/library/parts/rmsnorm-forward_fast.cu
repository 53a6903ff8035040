#include ONEPASS_SUBMISSION

#include "library/part.h"

ONEPASS_PART(rmsnorm_forward_fast, onepass_rmsnorm_forward, onepass::rmsnorm_forward_fast<T>)
