// Exercise 3.4 for the worker: the names that a request has for the arguments, and the combinations
// of types of 3.3.
#include ONEPASS_SUBMISSION

#include "worker/binding.h"

#define ONEPASS_FAST(name, ...)                                                                  \
  ONEPASS_EACH_DTYPE("rope_fast, " name, (onepass::rope_fast<T, __VA_ARGS__>), "q", "q_stride",  \
                     "k", "k_stride", "positions", "cos", "sin", "tokens", "q_heads", "k_heads", \
                     "head_dim", "rotary_dim", "pairing")

ONEPASS_FUNCTIONS(ONEPASS_FAST("fp32 tables, int32", float, int32_t),
                  ONEPASS_FAST("fp32 tables, int64", float, int64_t),
                  ONEPASS_FAST("own tables, int64", T, int64_t))
