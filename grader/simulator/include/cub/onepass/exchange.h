// Where the elements of a tile lie: in memory, in the threads' registers, and between the two.
//
//     blocked        thread t has elements t * n, t * n + 1, ...
//     striped        thread t has elements t, t + threads, t + 2 * threads, ...
//     warp-striped   the same within the n * 32 elements of a warp
//
// A striped thread's neighbour has the neighbouring element, so that a warp's access to memory is
// coalesced. A blocked one has what algorithms want. The exchange goes through shared memory.
#pragma once

#include "collective.h"

namespace cub {
namespace detail {

enum class Order { blocked, striped, warp_striped };

/// The element of a tile that is the i-th of `count` of a thread.
template <Order order, int block_threads, int count>
__forceinline__ int element_of(int thread, int i) {
  return order == Order::blocked   ? thread * count + i
         : order == Order::striped ? thread + i * block_threads
                                   : thread / 32 * 32 * count + thread % 32 + i * 32;
}

template <typename T, int block_threads, int count>
struct Exchange {
  // A word of padding for every 32 keeps a column out of one bank.
  static constexpr bool kIsPadded = count > 4 && (count & (count - 1)) == 0;
  static constexpr int place(int element) { return element + (kIsPadded ? element / 32 : 0); }

  struct Storage {
    T items[place(block_threads * count - 1) + 1];
  };

  template <Order from, Order to>
  static __forceinline__ void exchange(Storage& storage, int thread, T (&items)[count]) {
    for (int i = 0; i < count; ++i) {
      storage.items[place(element_of<from, block_threads, count>(thread, i))] = items[i];
    }
    if (from == Order::warp_striped || to == Order::warp_striped) {
      __syncwarp(lanes_of_warp(thread).mask());
    } else {
      __syncthreads();
    }
    for (int i = 0; i < count; ++i) {
      items[i] = storage.items[place(element_of<to, block_threads, count>(thread, i))];
    }
  }
};

/// How the tile of a BlockLoad or a BlockStore lies in memory. If it is transposed, it is blocked
/// in the threads' registers all the same, and changes its order in shared memory.
template <typename T, int block_threads, int count, bool is_transposed, bool is_of_warps,
          bool is_striped>
struct Tile {
  static_assert(!is_of_warps || block_threads % 32 == 0, "the block must be a multiple of a warp");
  static constexpr bool kIsExchanged = is_transposed || is_of_warps;
  static constexpr Order kInMemory = is_of_warps                   ? Order::warp_striped
                                     : is_transposed || is_striped ? Order::striped
                                                                   : Order::blocked;
  using Exchange = detail::Exchange<T, block_threads, count>;
  using Storage = std::conditional_t<kIsExchanged, typename Exchange::Storage, NoStorage>;
};

/// So many bytes are moved at once: what divides the thread's elements, 16 at most.
template <typename T, int count>
struct Vector {
  static constexpr int kWord = sizeof(T) % 16 == 0  ? 16
                               : sizeof(T) % 8 == 0 ? 8
                               : sizeof(T) % 4 == 0 ? 4
                               : sizeof(T) % 2 == 0 ? 2
                                                    : 1;
  static constexpr int kWords = static_cast<int>(sizeof(T)) * count / kWord;
  static constexpr int kWanted = kWord * (kWords % 4 == 0 ? 4 : kWords % 2 == 0 ? 2 : 1);
  static constexpr int kBytes = kWanted < 16 ? kWanted : 16;
  static constexpr int kCount = static_cast<int>(sizeof(T)) * count / kBytes;

  struct alignas(kBytes) Type {
    unsigned char bytes[kBytes];
  };
};

}  // namespace detail
}  // namespace cub
