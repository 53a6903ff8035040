// Not simulated: the compile stops and says so.
#error "<mma.h> (tensor cores, WMMA) cannot be simulated on a CPU: grade this on a GPU"
