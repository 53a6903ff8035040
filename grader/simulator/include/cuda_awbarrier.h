// Not simulated: the compile stops and says so.
#error \
    "<cuda_awbarrier.h> (asynchronous barriers) cannot be simulated on a CPU: grade this on a GPU"
