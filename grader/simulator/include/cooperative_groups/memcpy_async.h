// Not simulated: the compile stops and says so.
// clang-format off
#error "<cooperative_groups/memcpy_async.h> (asynchronous copies, cp.async) cannot be simulated on a CPU: grade this on a GPU"
