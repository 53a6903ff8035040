// Asynchronous copies of a thread's own: __pipeline_memcpy_async() and its kin (cp.async).
#pragma once

#include "onepass_simulator/vector_types.h"

/// zeros: how many bytes at the end are zero, and not read.
ONEPASS_INTRINSIC(void, __pipeline_memcpy_async,
                  (void* to, const void* from, size_t size, size_t zeros = 0),
                  simulator::async_copy(to, from, size, zeros))
ONEPASS_INTRINSIC(void, __pipeline_commit, (), simulator::commit_copies())
ONEPASS_INTRINSIC(void, __pipeline_wait_prior, (size_t prior), simulator::wait_for_copies(prior))
