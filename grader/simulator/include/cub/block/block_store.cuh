// cub::BlockStore: the threads' registers, in blocked order, to a tile of memory.
#pragma once

#include "../onepass/exchange.h"

namespace cub {

enum BlockStoreAlgorithm {
  BLOCK_STORE_DIRECT,
  BLOCK_STORE_STRIPED,
  BLOCK_STORE_VECTORIZE,
  BLOCK_STORE_TRANSPOSE,
  BLOCK_STORE_WARP_TRANSPOSE,
  BLOCK_STORE_WARP_TRANSPOSE_TIMESLICED,
};

namespace detail {

template <Order order, int block_threads, typename T, int count, typename Target>
__forceinline__ void store(int thread, Target target, const T (&items)[count], int end) {
  for (int i = 0; i < count; ++i) {
    const int element = element_of<order, block_threads, count>(thread, i);
    if (element < end) target[element] = items[i];
  }
}

}  // namespace detail

// The functions that a BlockStore is made of. `end`: how many elements there are.

#define ONEPASS_STORES(name, order, head, threads)                                \
  template <head typename T, int count, typename Target>                          \
  __forceinline__ void name(int linear_tid, Target target, T(&items)[count],      \
                            int end = 0x7fffffff) {                               \
    detail::store<detail::Order::order, threads>(linear_tid, target, items, end); \
  }
#define ONEPASS_BLOCK_THREADS int block_threads,
ONEPASS_STORES(StoreDirectBlocked, blocked, , 0)
ONEPASS_STORES(StoreDirectWarpStriped, warp_striped, , 0)
ONEPASS_STORES(StoreDirectStriped, striped, ONEPASS_BLOCK_THREADS, block_threads)
#undef ONEPASS_BLOCK_THREADS
#undef ONEPASS_STORES

/// By up to 16 bytes at once: `target` must be aligned to that. The documentation of CUDA 13.0 says
/// that others are stored element by element; its code does not look.
template <typename T, int count>
__forceinline__ void StoreDirectBlockedVectorized(int linear_tid, T* target, T (&items)[count]) {
  using Vector = detail::Vector<T, count>;
  using Type = typename Vector::Type;
  Type* to = reinterpret_cast<Type*>(target) + linear_tid * Vector::kCount;
  for (int i = 0; i < Vector::kCount; ++i) {
    Type vector;
    __builtin_memcpy(&vector, reinterpret_cast<char*>(items) + i * sizeof vector, sizeof vector);
    to[i] = vector;
  }
}

template <typename T, int BLOCK_DIM_X, int ITEMS_PER_THREAD,
          BlockStoreAlgorithm ALGORITHM = BLOCK_STORE_DIRECT, int BLOCK_DIM_Y = 1,
          int BLOCK_DIM_Z = 1, int LEGACY_PTX_ARCH = 0>
class BlockStore {
  static constexpr int kThreads = BLOCK_DIM_X * BLOCK_DIM_Y * BLOCK_DIM_Z;
  using Tile = detail::Tile<T, kThreads, ITEMS_PER_THREAD, ALGORITHM == BLOCK_STORE_TRANSPOSE,
                            ALGORITHM == BLOCK_STORE_WARP_TRANSPOSE ||
                                ALGORITHM == BLOCK_STORE_WARP_TRANSPOSE_TIMESLICED,
                            ALGORITHM == BLOCK_STORE_STRIPED>;
  using Storage = typename Tile::Storage;
  using Items = T[ITEMS_PER_THREAD];

 public:
  struct TempStorage : Uninitialized<Storage> {};

  __forceinline__ BlockStore() : BlockStore(detail::private_storage<TempStorage>()) {}
  __forceinline__ BlockStore(TempStorage& storage)
      : storage_(storage.Alias()), thread_(detail::thread_in_block()) {
    detail::check_block_shape<BLOCK_DIM_X, BLOCK_DIM_Y, BLOCK_DIM_Z>("cub::BlockStore");
  }

  template <typename Target>
  __forceinline__ void Store(Target target, Items& items) {
    if constexpr (ALGORITHM == BLOCK_STORE_VECTORIZE && std::is_pointer_v<Target>) {
      StoreDirectBlockedVectorized(thread_, target, items);
    } else {
      Store(target, items, 0x7fffffff);
    }
  }
  /// The elements before `end`.
  template <typename Target>
  __forceinline__ void Store(Target target, Items& items, int end) {
    if constexpr (Tile::kIsExchanged) {
      Tile::Exchange::template exchange<detail::Order::blocked, Tile::kInMemory>(storage_, thread_,
                                                                                 items);
    }
    detail::store<Tile::kInMemory, kThreads>(thread_, target, items, end);
  }

 private:
  Storage& storage_;
  const int thread_;
};

}  // namespace cub
