// What of the standard library a file has without asking for it, because nvcc's own headers do.
#include <cuda_runtime.h>

struct Range {
  size_t begin, end;
};

int main() {
  float* x = nullptr;
  float* y = nullptr;
  bool aligned = true;
  for (const void* pointer : {static_cast<const void*>(x), static_cast<const void*>(y)}) {
    aligned = aligned && reinterpret_cast<size_t>(pointer) % 16 == 0;
  }
  std::initializer_list<size_t> ends = {4, 8};
  std::pair<size_t, size_t> longest(0, *ends.begin());
  std::swap(x, y);
  alignas(Range) unsigned char room[sizeof(Range)];
  Range* range = new (room) Range{std::move(longest.first), longest.second};
  static_assert(std::is_same<decltype(range->end), size_t>::value, "");
  char text[32];
  snprintf(text, sizeof text, "%g", std::sqrt(static_cast<float>(abs(-4))));
  return aligned && strlen(text) == 1 && range->end > static_cast<size_t>(std::abs(-1)) ? 0 : EXIT_FAILURE;
}
