// CUB's own operators. Since CUDA 13 they are gone: <cuda/functional> has cuda::maximum<> and
// cuda::minimum<>, <cuda/std/functional> cuda::std::plus<>.
#pragma once

#include <cuda/functional>
#include <cuda/std/functional>

namespace cub {

using Sum = ::cuda::std::plus<>;
using Max = ::cuda::maximum<>;
using Min = ::cuda::minimum<>;

/// A value and where it was found.
template <typename Key, typename Value>
struct KeyValuePair {
  using key_type = Key;
  using value_type = Value;
  Key key;
  Value value;
};

#define ONEPASS_ARG(name, comparison)                                                            \
  struct name {                                                                                  \
    template <typename T, typename Offset>                                                       \
    __forceinline__ KeyValuePair<Offset, T> operator()(const KeyValuePair<Offset, T>& a,         \
                                                       const KeyValuePair<Offset, T>& b) const { \
      return b.value comparison a.value || (b.value == a.value && b.key < a.key) ? b : a;        \
    }                                                                                            \
  };
ONEPASS_ARG(ArgMax, >)
ONEPASS_ARG(ArgMin, <)
#undef ONEPASS_ARG

}  // namespace cub
