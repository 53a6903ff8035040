// A zeroed array whose pages come into being when they are first written: bookkeeping beside a
// device buffer of several GB costs only as much as the part of the buffer that is touched. A small
// one gets its pages at once, which costs less than to be stopped at each of them.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <new>
#include <utility>

namespace simulator {

template <typename T>  // all bits zero must be a value of T
class LazyArray {
 public:
  LazyArray() = default;
  explicit LazyArray(std::size_t size) : size_(size) {
    if (size == 0) return;
    void* memory = mmap(nullptr, size * sizeof(T), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
                            (size * sizeof(T) <= kSmallBytes ? MAP_POPULATE : 0),
                        -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    data_ = static_cast<T*>(memory);
  }
  ~LazyArray() {
    if (data_ != nullptr) munmap(data_, size_ * sizeof(T));
  }
  LazyArray(LazyArray&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  LazyArray& operator=(LazyArray&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }

  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  std::size_t size() const { return size_; }
  T* data() { return data_; }

 private:
  static constexpr std::size_t kSmallBytes = std::size_t{1} << 20;

  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace simulator
