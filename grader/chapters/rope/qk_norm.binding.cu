// Exercise 3.5 for the worker: the names that a request has for the arguments, and the combinations
// of types of 3.3.
#include ONEPASS_SUBMISSION

#include "worker/binding.h"

#define ONEPASS_QK_NORM(name, ...)                                                            \
  ONEPASS_EACH_DTYPE("rope_qk_norm, " name, (onepass::rope_qk_norm<T, __VA_ARGS__>), "q",     \
                     "q_stride", "k", "k_stride", "q_weight", "k_weight", "positions", "cos", \
                     "sin", "tokens", "q_heads", "k_heads", "head_dim", "rotary_dim", "eps")

ONEPASS_FUNCTIONS(ONEPASS_QK_NORM("fp32 tables, int32", float, int32_t),
                  ONEPASS_QK_NORM("fp32 tables, int64", float, int64_t),
                  ONEPASS_QK_NORM("own tables, int64", T, int64_t))
