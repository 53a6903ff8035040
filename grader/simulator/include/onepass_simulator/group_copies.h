// An asynchronous copy of any number of bytes, shared out over the threads of a group as CUDA's
// headers do it: piece i is the thread's of rank i, then those a group's size further on.
//
// A piece has as many bytes as addresses and size are known to be multiples of, 16 at most, by the
// element's type or by cuda::aligned_size_t. Pieces of 1 and 2 bytes, which the hardware does not
// copy by itself, CUDA's headers load and store at once; but that is theirs to change, and a
// program must wait for them all the same. From and to other memory it is an ordinary copy.
#pragma once

#include <cstddef>

#include "vector_types.h"

namespace cuda {

/// A number of bytes, and a promise: it, and both addresses, are multiples of `alignment`.
template <::std::size_t alignment>
struct aligned_size_t {
  static constexpr ::std::size_t align = alignment;
  ::std::size_t value;
  explicit constexpr aligned_size_t(::std::size_t bytes) : value(bytes) {}
  constexpr operator ::std::size_t() const { return value; }
};

}  // namespace cuda

namespace simulator {

template <typename T>
constexpr std::size_t known_alignment = alignof(T);
template <>
inline constexpr std::size_t known_alignment<void> = 1;
template <typename Size>
constexpr std::size_t promised_alignment = 1;
template <std::size_t alignment>
inline constexpr std::size_t promised_alignment<cuda::aligned_size_t<alignment>> = alignment;

template <typename T, typename Size>
constexpr std::size_t alignment_of =
    known_alignment<T> > promised_alignment<Size> ? known_alignment<T> : promised_alignment<Size>;

template <std::size_t bytes>
struct alignas(bytes) Piece {
  unsigned char of[bytes];
};

/// piece: how many bytes at a time, a multiple of the alignment.
template <std::size_t alignment, typename Group>
__forceinline__ void copy_together(const Group& group, void* to, const void* from, size_t bytes,
                                   size_t piece) {
  using Least = Piece < alignment<16 ? alignment : 16>;
  for (size_t at = group.thread_rank() * piece; at < bytes; at += group.size() * piece) {
    auto* const to_here = static_cast<unsigned char*>(to) + at;
    const auto* const from_here = static_cast<const unsigned char*>(from) + at;
    if (async_piece(to_here, from_here, piece)) continue;
    for (size_t i = 0; i < piece; i += sizeof(Least)) {
      *reinterpret_cast<Least*>(to_here + i) = *reinterpret_cast<const Least*>(from_here + i);
    }
  }
}

/// In pieces of what is known when the program is compiled.
template <std::size_t alignment, typename Group>
__forceinline__ void copy_together(const Group& group, void* to, const void* from, size_t bytes) {
  copy_together<alignment>(group, to, from, bytes, alignment < 16 ? alignment : 16);
}

}  // namespace simulator
