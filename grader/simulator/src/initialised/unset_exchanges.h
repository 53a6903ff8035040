// Exchanges that found what nobody had written. An exchange is a write: what it finds it reads only
// if the program uses that, which is known later or never. So what there is to tell is kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace simulator {

class UnsetExchanges {
 public:
  void add(std::function<void()> tell) {
    if (tells_.size() == kMost) return;  // more say nothing new
    tells_.push_back(std::move(tell));
    last_ = tells_.size();
  }
  /// The number of the one that was added since the last call; 0: none was.
  std::uint64_t take_last() { return std::exchange(last_, 0); }
  void use(std::uint64_t number) { tells_.at(number - 1)(); }

 private:
  static constexpr std::size_t kMost = 4096;

  std::vector<std::function<void()>> tells_;
  std::uint64_t last_ = 0;
};

}  // namespace simulator
