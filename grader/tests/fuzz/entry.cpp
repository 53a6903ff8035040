// Where libFuzzer comes in.
#include <cstddef>
#include <cstdint>

#include "tests/fuzz/target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  onepass::fuzz::try_input({reinterpret_cast<const char*>(data), size});
  return 0;
}
