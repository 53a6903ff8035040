// Not simulated: the compile stops and says so.
#error "<cub/cub.cuh> (the CUB library) cannot be simulated on a CPU: grade this on a GPU"
