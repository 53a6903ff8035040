// Not simulated: the compile stops and says so.
#error "<thrust/sort.h> (the Thrust library) cannot be simulated on a CPU: grade this on a GPU"
