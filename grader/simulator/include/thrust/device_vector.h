// Not simulated: the compile stops and says so.
// clang-format off
#error "<thrust/device_vector.h> (the Thrust library) cannot be simulated on a CPU: grade this on a GPU"
