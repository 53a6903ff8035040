// Exercise 3.3 for the worker: the names that a request has for the arguments. The types of the
// tables and of the positions are part of the function's name; of the four combinations three say
// all there is to say, and each costs compile time.
#include ONEPASS_SUBMISSION

#include "worker/binding.h"

#define ONEPASS_HALF_SPLIT(name, ...)                                                             \
  ONEPASS_EACH_DTYPE("rope_half_split, " name, (onepass::rope_half_split<T, __VA_ARGS__>), "q",   \
                     "q_stride", "k", "k_stride", "positions", "cos", "sin", "tokens", "q_heads", \
                     "k_heads", "head_dim", "rotary_dim")

ONEPASS_FUNCTIONS(ONEPASS_HALF_SPLIT("fp32 tables, int32", float, int32_t),
                  ONEPASS_HALF_SPLIT("fp32 tables, int64", float, int64_t),
                  ONEPASS_HALF_SPLIT("own tables, int64", T, int64_t))
