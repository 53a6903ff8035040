#include ONEPASS_SUBMISSION

#include "library/part.h"

ONEPASS_PART(rmsnorm_wide_rows, onepass_rmsnorm_forward, onepass::rmsnorm_wide_rows<T>)
