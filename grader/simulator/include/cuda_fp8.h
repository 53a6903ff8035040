// Not simulated: the compile stops and says so.
#error "<cuda_fp8.h> (8-bit floating point) cannot be simulated on a CPU: grade this on a GPU"
