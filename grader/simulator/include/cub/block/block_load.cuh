// cub::BlockLoad: a tile of memory into the threads' registers, in blocked order.
#pragma once

#include "../onepass/exchange.h"

namespace cub {

enum BlockLoadAlgorithm {
  BLOCK_LOAD_DIRECT,
  BLOCK_LOAD_STRIPED,
  BLOCK_LOAD_VECTORIZE,
  BLOCK_LOAD_TRANSPOSE,
  BLOCK_LOAD_WARP_TRANSPOSE,
  BLOCK_LOAD_WARP_TRANSPOSE_TIMESLICED,
};

namespace detail {

template <Order order, int block_threads, typename T, int count, typename Source>
__forceinline__ void load(int thread, Source source, T (&items)[count], int end) {
  for (int i = 0; i < count; ++i) {
    const int element = element_of<order, block_threads, count>(thread, i);
    if (element < end) items[i] = source[element];
  }
}

}  // namespace detail

// The functions that a BlockLoad is made of. `end`: how many elements there are.

#define ONEPASS_LOADS(name, order, head, threads)                                       \
  template <head typename T, int count, typename Source>                                \
  __forceinline__ void name(int linear_tid, Source source, T(&items)[count]) {          \
    detail::load<detail::Order::order, threads>(linear_tid, source, items, 0x7fffffff); \
  }                                                                                     \
  template <head typename T, int count, typename Source>                                \
  __forceinline__ void name(int linear_tid, Source source, T(&items)[count], int end) { \
    detail::load<detail::Order::order, threads>(linear_tid, source, items, end);        \
  }                                                                                     \
  template <head typename T, typename Default, int count, typename Source>              \
  __forceinline__ void name(int linear_tid, Source source, T(&items)[count], int end,   \
                            Default beyond) {                                           \
    for (int i = 0; i < count; ++i) items[i] = beyond;                                  \
    detail::load<detail::Order::order, threads>(linear_tid, source, items, end);        \
  }
#define ONEPASS_BLOCK_THREADS int block_threads,
ONEPASS_LOADS(LoadDirectBlocked, blocked, , 0)
ONEPASS_LOADS(LoadDirectWarpStriped, warp_striped, , 0)
ONEPASS_LOADS(LoadDirectStriped, striped, ONEPASS_BLOCK_THREADS, block_threads)
#undef ONEPASS_BLOCK_THREADS
#undef ONEPASS_LOADS

/// By up to 16 bytes at once where `source` is aligned to that, else element by element, as in the
/// CUB of CUDA 13. (Older ones have the same in their documentation, and load nothing at once.)
template <typename T, int count>
__forceinline__ void LoadDirectBlockedVectorized(int linear_tid, const T* source,
                                                 T (&items)[count]) {
  using Vector = detail::Vector<T, count>;
  using Type = typename Vector::Type;
  if (reinterpret_cast<std::uintptr_t>(source) % sizeof(Type) != 0) {
    LoadDirectBlocked(linear_tid, source, items);
    return;
  }
  const Type* from = reinterpret_cast<const Type*>(source) + linear_tid * Vector::kCount;
  for (int i = 0; i < Vector::kCount; ++i) {
    const Type vector = from[i];
    __builtin_memcpy(reinterpret_cast<char*>(items) + i * sizeof vector, &vector, sizeof vector);
  }
}

template <typename T, int BLOCK_DIM_X, int ITEMS_PER_THREAD,
          BlockLoadAlgorithm ALGORITHM = BLOCK_LOAD_DIRECT, int BLOCK_DIM_Y = 1,
          int BLOCK_DIM_Z = 1, int LEGACY_PTX_ARCH = 0>
class BlockLoad {
  static constexpr int kThreads = BLOCK_DIM_X * BLOCK_DIM_Y * BLOCK_DIM_Z;
  using Tile = detail::Tile<T, kThreads, ITEMS_PER_THREAD, ALGORITHM == BLOCK_LOAD_TRANSPOSE,
                            ALGORITHM == BLOCK_LOAD_WARP_TRANSPOSE ||
                                ALGORITHM == BLOCK_LOAD_WARP_TRANSPOSE_TIMESLICED,
                            ALGORITHM == BLOCK_LOAD_STRIPED>;
  using Storage = typename Tile::Storage;
  using Items = T[ITEMS_PER_THREAD];

 public:
  struct TempStorage : Uninitialized<Storage> {};

  __forceinline__ BlockLoad() : BlockLoad(detail::private_storage<TempStorage>()) {}
  __forceinline__ BlockLoad(TempStorage& storage)
      : storage_(storage.Alias()), thread_(detail::thread_in_block()) {
    detail::check_block_shape<BLOCK_DIM_X, BLOCK_DIM_Y, BLOCK_DIM_Z>("cub::BlockLoad");
  }

  template <typename Source>
  __forceinline__ void Load(Source source, Items& items) {
    if constexpr (ALGORITHM == BLOCK_LOAD_VECTORIZE && std::is_pointer_v<Source>) {
      LoadDirectBlockedVectorized(thread_, source, items);
    } else {
      Load(source, items, 0x7fffffff);
    }
  }
  /// Of the elements before `end`. The others stay as they are.
  template <typename Source>
  __forceinline__ void Load(Source source, Items& items, int end) {
    detail::load<Tile::kInMemory, kThreads>(thread_, source, items, end);
    if constexpr (Tile::kIsExchanged) {
      Tile::Exchange::template exchange<Tile::kInMemory, detail::Order::blocked>(storage_, thread_,
                                                                                 items);
    }
  }
  /// The others become `beyond`.
  template <typename Source, typename Default>
  __forceinline__ void Load(Source source, Items& items, int end, Default beyond) {
    for (T& item : items) item = beyond;
    Load(source, items, end);
  }

 private:
  Storage& storage_;
  const int thread_;
};

}  // namespace cub
