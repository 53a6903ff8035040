// What an access is. Apart from simulator.h, so that the checkers' events need nothing else of it.
#pragma once

namespace simulator {

enum class MemorySpace { shared, global };
enum class AccessType { read, write, atomic };

}  // namespace simulator
