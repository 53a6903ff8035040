#include ONEPASS_SUBMISSION

#include "library/part.h"

ONEPASS_PART(rmsnorm_backward, onepass_rmsnorm_backward, onepass::rmsnorm_backward<T>)
