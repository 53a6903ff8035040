// A zeroed array whose pages come into being when they are first written: bookkeeping beside a
// device buffer of several GB costs only as much as the part of the buffer that is touched. A small
// one comes from the heap, whose pages are there from the last such array: to ask the system for
// others, and to be stopped at each of them, costs more than to write zeros.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <new>
#include <utility>

namespace simulator {

template <typename T>  // all bits zero must be a value of T
class LazyArray {
 public:
  LazyArray() = default;
  explicit LazyArray(std::size_t size) : size_(size) {
    if (size == 0) return;
    void* memory = nullptr;
    if (bytes() <= kHeapBytes) {
      memory = std::calloc(size, sizeof(T));
    } else {
      memory = mmap(nullptr, bytes(), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    }
    if (memory == nullptr || memory == MAP_FAILED) throw std::bad_alloc();
    data_ = static_cast<T*>(memory);
  }
  ~LazyArray() {
    if (bytes() <= kHeapBytes) {
      std::free(data_);
    } else {
      munmap(data_, bytes());
    }
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
  static constexpr std::size_t kHeapBytes = std::size_t{1} << 20;

  std::size_t bytes() const { return size_ * sizeof(T); }

  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace simulator
