// <cuda_pipeline.h>: the functions of a thread. Its class nvcuda::experimental::pipeline, which
// cuda::pipeline has replaced, is not there.
#pragma once

#include "cuda_pipeline_primitives.h"
