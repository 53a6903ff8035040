// Host memory that cudaMallocHost() has given: a copy to it is made while the host goes on.
#pragma once

#include <cstddef>

namespace simulator {

bool is_page_locked(const void* pointer, std::size_t bytes);

}  // namespace simulator
