#include ONEPASS_SUBMISSION

#include "library/part.h"

ONEPASS_PART(rmsnorm_residual, onepass_rmsnorm_residual, onepass::rmsnorm_residual<T>)
