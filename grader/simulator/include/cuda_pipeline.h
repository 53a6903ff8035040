// Not simulated: the compile stops and says so.
#error \
    "<cuda_pipeline.h> (asynchronous copies, cp.async) cannot be simulated on a CPU: grade this on a GPU"
