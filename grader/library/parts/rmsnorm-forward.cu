#include ONEPASS_SUBMISSION

#include "library/part.h"

ONEPASS_PART(rmsnorm_forward, onepass_rmsnorm_forward, onepass::rmsnorm_forward<T>)
